package scen

import (
	"math"
	"slices"
)

// What readers do in a stretch.
const (
	without    = "without" // there are none
	with       = "with"    // they ask the server
	withCopies = "copies"  // they fetch copies of the server's answer from the driver: what they cost whomever they ask
)

// stretches has the stretches of a round, by what the readers do.
type stretches map[string][]out

// order is the order of a round's stretches: each kind once, then again backwards, so that a slow drift of the machine's speed does not count. The next
// round begins with another kind, so that in as many rounds as there are kinds each of them stands first and last once.
func order(kinds []string, round int) []string {
	k := round % len(kinds)
	there := slices.Concat(kinds[k:], kinds[:k])
	back := slices.Clone(there)
	slices.Reverse(back)
	return append(there, back...)
}

// summary compares the kinds of stretches round by round, because the machine's speed may change between rounds. A figure is the middle one of all
// rounds; "rounds" has the lowest, the middle and the highest, and of more than one round the mean and its standard error. A round that an error cut
// short does not count.
func summary(kinds []string, all []stretches) out {
	f, rounds := out{}, out{}
	if len(all) > 0 {
		for _, kind := range kinds {
			f[kind] = all[len(all)-1][kind]
		}
	}
	all = slices.DeleteFunc(slices.Clone(all), func(x stretches) bool {
		return slices.ContainsFunc(kinds, func(kind string) bool { return len(x[kind]) != 2 })
	})
	rounds["count"], f["rounds"] = len(all), rounds
	each := func(kind, name string) (of []float64) {
		for _, x := range all {
			a, _ := x[kind][0][name].(float64)
			b, _ := x[kind][1][name].(float64)
			of = append(of, (a+b)/2)
		}
		return of
	}
	note := func(name string, figures []float64, mean func([]float64) [2]float64) {
		if len(figures) == 0 {
			return
		}
		rounds[name], f[name] = spread(figures), spread(figures)[1]
		if len(figures) > 1 {
			rounds[name+"_mean"] = mean(figures)
		}
	}
	compare := func(name, kind, to, figure string) {
		var of []float64
		a, b := each(kind, figure), each(to, figure)
		for i := range a {
			if a[i] > 0 && b[i] > 0 {
				of = append(of, a[i]/b[i])
			}
		}
		note(name, of, meanOfRatios)
	}
	note("containers_per_s", each(without, "containers_per_s"), mean)
	note("containers_per_s_with_readers", each(with, "containers_per_s"), mean)
	note("publishing_ms_per_s", each(with, "publishing_ms_per_s"), mean)
	compare("kept", with, without, "containers_per_s")
	compare("server_cpu_ratio", with, without, "server_cpu_us_per_container")
	if slices.Contains(kinds, withCopies) {
		compare("kept_copies", withCopies, without, "containers_per_s")
		compare("kept_to_copies", with, withCopies, "containers_per_s")
		compare("server_cpu_ratio_to_copies", with, withCopies, "server_cpu_us_per_container")
	}
	return f
}

// mean is the mean of at least two figures and its standard error.
func mean(v []float64) [2]float64 {
	m, e := meanAndError(v)
	return [2]float64{round(m), round(e)}
}

// meanOfRatios is the geometric mean, of which the inverse is the mean of the inverses, and its standard error.
func meanOfRatios(v []float64) [2]float64 {
	logs := make([]float64, len(v))
	for i, x := range v {
		logs[i] = math.Log(x)
	}
	m, e := meanAndError(logs)
	return [2]float64{round(math.Exp(m)), round(math.Exp(m) * e)}
}

func meanAndError(v []float64) (mean, standardError float64) {
	n, squares := float64(len(v)), 0.0
	for _, x := range v {
		mean += x / n
	}
	for _, x := range v {
		squares += (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(squares / n / (n - 1))
}
