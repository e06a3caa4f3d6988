// Package yarn is a sample.
package yarn

import _ "sample/scheduler/queue" // want "yarn must not import scheduler/queue"
