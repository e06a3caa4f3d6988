package groups

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/heddle-project/heddle/internal/command"
)

// maxOutput is how much a lookup may print.
const maxOutput = 1 << 20

// mapping is the function behind the configured mapping.
func mapping(o Options) (func(context.Context, string) ([]string, error), error) {
	switch o.Mapping {
	case "", "shell":
		s := &system{program: o.Program, options: o}
		if s.program == "" {
			s.program = "id"
		}
		return s.lookup, nil
	case "null":
		return func(context.Context, string) ([]string, error) { return nil, nil }, nil
	}
	return nil, fmt.Errorf("hadoop.security.group.mapping: the mapping %q is not built; let the operating system look groups up "+
		"(ShellBasedUnixGroupsMapping, with SSSD or nslcd for LDAP) or list users in hadoop.user.group.static.mapping.overrides", o.Mapping)
}

// checkName refuses what cannot be a user's name on any system that we run on.
func checkName(user string) error {
	switch {
	case user == "":
		return errors.New("the name is empty")
	case len(user) > MaxUserName:
		return fmt.Errorf("the name is longer than %d bytes", MaxUserName)
	case user[0] == '-':
		return errors.New("a name cannot begin with a dash")
	case strings.ContainsFunc(user, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0xfffd }):
		return errors.New("the name holds a control character or is not UTF-8")
	}
	return nil
}

// system asks the operating system by way of the id program, which sees all
// sources of users, directories too, without being linked to them.
type system struct {
	program string
	options Options
	plain   atomic.Bool // the program cannot separate names by NUL
}

func (s *system) lookup(ctx context.Context, user string) ([]string, error) {
	names, complete, err := s.list(ctx, "-Gn", user)
	if err != nil {
		return nil, err
	}
	if !complete {
		// compat: some group has no name, and its number stands for it. The name
		// is dropped if it is the number; id prints both lists in one order.
		numbers, _, err := s.list(ctx, "-G", user)
		if err != nil {
			return nil, err
		}
		if names, err = named(names, numbers); err != nil {
			return nil, err
		}
	}
	if len(names) > MaxGroups {
		return nil, fmt.Errorf("the user has more than %d groups", MaxGroups)
	}
	return distinct(names), nil
}

// list runs the program. It is not complete if the program said that it failed
// and yet listed something. An unknown user has an empty list.
func (s *system) list(ctx context.Context, flag, user string) (words []string, complete bool, err error) {
	if !s.plain.Load() {
		// Names may hold blanks, so they are separated by NUL where id can do that.
		out, err := s.run(ctx, flag+"z", user)
		if !unknownOption(err) {
			return answerOf(out, err, func(out string) []string { return strings.Split(strings.Trim(out, "\x00\n"), "\x00") })
		}
		s.plain.Store(true)
	}
	out, err := s.run(ctx, flag, user)
	return answerOf(out, err, strings.Fields)
}

func (s *system) run(ctx context.Context, flag, user string) ([]byte, error) {
	return command.Run(ctx, s.options.Timeout, maxOutput, s.program, flag, "--", user)
}

// unknownOption tells that the program does not know the flags it was given.
func unknownOption(err error) bool {
	var failure *command.Error
	return errors.As(err, &failure) && failure.ExitCode > 0 && strings.Contains(failure.Stderr, "option")
}

func answerOf(out []byte, err error, split func(string) []string) (words []string, complete bool, _ error) {
	if err == nil {
		return split(string(out)), true, nil
	}
	var failure *command.Error
	if !errors.As(err, &failure) || failure.ExitCode <= 0 {
		return nil, false, err
	}
	if len(failure.Out) == 0 {
		return nil, false, fmt.Errorf("%w: %s", ErrNoGroups, failure.Stderr)
	}
	return split(string(failure.Out)), false, nil
}

// named are the names that are not merely the number of the group.
func named(names, numbers []string) ([]string, error) {
	if len(names) != len(numbers) {
		return nil, fmt.Errorf("%d group names do not fit %d group numbers", len(names), len(numbers))
	}
	var out []string
	for i, name := range names {
		if name != numbers[i] {
			out = append(out, name)
		}
	}
	return out, nil
}

// distinct drops empty and repeated names and keeps the order.
func distinct(names []string) []string {
	var out []string
	seen := make(map[string]bool, len(names))
	for _, n := range names {
		if n != "" && !seen[n] {
			seen[n] = true
			out = append(out, n)
		}
	}
	return slices.Clip(out)
}
