package demand

import "slices"

// Share marks the demand as used by several attempts: nobody may change it from now on.
func (d *Demand) Share() *Demand {
	d.shared = true
	return d
}

// Shared tells whether several attempts use the demand.
func (d *Demand) Shared() bool { return d.shared }

// CopyTo makes c, which is empty, a copy of a shared demand that may be changed. d has one key at most, and asks for no hosts or racks.
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
