package trace

// PlanHeader describes the plan of reservations of a scenario. Times are milliseconds.
type PlanHeader struct {
	Version        int     `json:"plan"`
	About          string  `json:"about"`
	RecordedFrom   string  `json:"recorded-from"`
	Resource       Amounts `json:"resource"` // the plan's capacity
	Min            Amounts `json:"minimum-allocation"`
	Max            Amounts `json:"maximum-allocation"`
	Calculator     string  `json:"calculator"` // default or dominant
	Step           int64   `json:"step"`
	MaxPeriodicity int64   `json:"max-periodicity"`
	Agent          string  `json:"agent"` // aligned or greedy
	FavorEarly     bool    `json:"favor-early"`
	Smoothness     int32   `json:"smoothness"`
	Policy         string  `json:"policy"` // capacity-over-time or no-over-commit
	Window         int64   `json:"window"`
	Average        float32 `json:"average"`       // percent
	Peak           float32 `json:"instantaneous"` // percent
	Enforcement    int64   `json:"enforcement-window"`
}

// PlanEvent is one line after the header of a plan. Only the fields of its kind are set.
type PlanEvent struct {
	Common

	Now  int64  `json:"now"` // the clock's time
	ID   *int64 `json:"id"`
	User string `json:"user"`

	Queue        *string  `json:"queue"` // nil: the plan's
	NoDefinition bool     `json:"no-definition"`
	Arrival      int64    `json:"arrival"`
	Deadline     int64    `json:"deadline"`
	Recurrence   *string  `json:"recurrence"`
	Interpreter  string   `json:"interpreter"`
	Requests     *[]Stage `json:"requests"` // nil: there is no list at all

	Resource Amounts `json:"resource"` // the plan's new capacity
	Start    *int64  `json:"start"`    // of what is looked at
	End      *int64  `json:"end"`
	Period   int64   `json:"period"`
}

// Stage is one request of a reservation.
type Stage struct {
	Resource    Amounts `json:"resource"`
	Count       int32   `json:"count"`
	Concurrency int32   `json:"concurrency"`
	Duration    int64   `json:"duration"`
}
