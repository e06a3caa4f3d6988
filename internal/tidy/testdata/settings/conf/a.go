// Package conf is a sample.
package conf

type Port struct{ Number int }

type ResourceManager struct {
	Web    Web
	Users  []User
	Unread int // want "nothing reads the setting Unread"
}

type Web struct {
	Port
	Frame bool // want "nothing reads the setting Frame"
}

type User struct {
	Name string
	All  bool
}

// MayAll reads within the package.
func (u User) MayAll() bool { return u.All }

func Read() ResourceManager {
	r := ResourceManager{Web: Web{Frame: true}, Unread: 1}
	r.Unread = 2
	return r
}
