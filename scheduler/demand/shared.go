package demand

import "slices"

// Share has several attempts use the demand, which must not be changed any more.
func (d *Demand) Share() *Demand {
	d.shared = true
	return d
}

// Shared tells whether the demand must not be changed.
func (d *Demand) Shared() bool { return d.shared }

// CopyTo makes an empty demand equal to a shared one, which has no more than one key, and no rows of places. The copy may be changed.
func (d *Demand) CopyTo(c *Demand) {
	*c = *d
	c.shared = false
	c.asked = append(c.everAsked[:0], d.asked...)
	if d.keys == nil {
		return
	}
	first := []*Want{&c.inline.first}
	c.keys, c.all = append(c.inline.keys[:0], first[:len(d.keys)]...), append(c.inline.all[:0], first[:len(d.all)]...)
	c.idle = slices.Clone(first[:len(d.idle)])
	c.pending = append(c.inline.pending[:0], d.pending...)
}
