package yarn

// Now is an instant as the pure machines receive it. Wall is milliseconds since
// 1970 and is what gets stored, shown and ordered by; Mono is milliseconds of a
// clock that never jumps, for measuring how long something has lasted.
type Now struct{ Wall, Mono int64 }
