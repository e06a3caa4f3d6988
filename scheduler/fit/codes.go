// Package fit has the codes of reasons: why something was refused, or waits. The checks
// that give them stand where decisions are made.
package fit

import "github.com/heddle-project/heddle/yarn"

// Reasons of refused calls.
const (
	UnknownQueue      yarn.Code = "unknown-queue"
	AmbiguousQueue    yarn.Code = "ambiguous-queue"
	NotALeaf          yarn.Code = "not-a-leaf"
	NotADynamicParent yarn.Code = "parent-creates-no-queues"
	TooDeep           yarn.Code = "queue-too-deep"
	TooManyQueues     yarn.Code = "too-many-dynamic-queues"
	QueueStopped      yarn.Code = "queue-stopped"
	SubmitDenied      yarn.Code = "submit-denied"
	AdminDenied       yarn.Code = "administer-denied"
	TooManyApps       yarn.Code = "too-many-applications"          // of the cluster
	TooManyQueueApps  yarn.Code = "too-many-applications-in-queue" // pending and active
	TooManyUserApps   yarn.Code = "too-many-applications-of-user"  // in the queue
	PriorityDenied    yarn.Code = "priority-denied"                // by an ACL
	NegativeResource  yarn.Code = "negative-resource"
	ResourceTooLarge  yarn.Code = "resource-too-large"
	LabelsDisabled    yarn.Code = "node-labels-disabled"
	LabelUnknown      yarn.Code = "unknown-label"
	LabelNotAllowed   yarn.Code = "label-not-accessible"
	LabelOnPlace      yarn.Code = "label-on-host-or-rack"
	LabelExpression   yarn.Code = "label-expression-too-complex"
	TooManyAsks       yarn.Code = "too-many-asks"
	BadRequest        yarn.Code = "invalid-request"
	MovesUnsupported  yarn.Code = "moves-unsupported" // by the scheduler
	AccessChanges     yarn.Code = "labels-not-accessible-in-target"

	BadQueueName     yarn.Code = "invalid-queue-name"
	PolicyNotAllowed yarn.Code = "policy-not-allowed-below-parent" // Detail
	NoRulePlaces     yarn.Code = "no-placement-rule-finds-a-queue"
	NoGroups         yarn.Code = "user-has-no-groups"
	NothingOfType    yarn.Code = "queue-may-have-none-of-a-resource" // Detail
	TooMuchPromised  yarn.Code = "more-promised-than-the-plan-has"   // Detail
	ReservationOver  yarn.Code = "reservation-not-active"            // Detail, its name
	OtherPlan        yarn.Code = "reservation-of-another-queue"      // Detail, its name
	NotAPlan         yarn.Code = "queue-takes-no-reservations"
)

// Reasons why something waits.
const (
	NothingAsked       yarn.Code = "nothing-asked"
	AMLimit            yarn.Code = "queue-am-limit"
	UserAMLimit        yarn.Code = "user-am-limit"
	ParallelApps       yarn.Code = "max-parallel-apps"
	QueueLimit         yarn.Code = "queue-limit"
	ParentLimit        yarn.Code = "parent-queue-limit"
	UserLimit          yarn.Code = "user-limit"
	Headroom           yarn.Code = "queue-headroom-too-small"
	PartitionDenied    yarn.Code = "partition-not-accessible"
	NodeFull           yarn.Code = "node-full"
	NodeReserved       yarn.Code = "node-reserved-by-other"
	NodeTooSmall       yarn.Code = "node-too-small"
	NodeUnavailable    yarn.Code = "node-not-accepting"
	Blacklisted        yarn.Code = "node-blacklisted"
	OtherPartition     yarn.Code = "other-partition"
	LocalityDelay      yarn.Code = "locality-delay"
	StrictLocality     yarn.Code = "strict-locality"
	ShareDelay         yarn.Code = "waits-to-share-partition"
	EarlierAsk         yarn.Code = "earlier-priority-waits"
	ReservationsEnough yarn.Code = "enough-reservations"
	NoNodes            yarn.Code = "no-nodes"                      // in the cluster
	QueueRemoved       yarn.Code = "queue-removed"                 // and its applications still there
	OtherList          yarn.Code = "partition-of-others"           // partitions-enforced names another list of applications
	UserUnknown        yarn.Code = "user-not-counted-in-queue"     // its record was forgotten
	RoomKept           yarn.Code = "room-kept-for-other-queue"     // Detail, which is served before
	OthersFirst        yarn.Code = "other-application-comes-first" // Detail; with what it needs and may have, if that holds it up
	ComesNext          yarn.Code = "comes-next"                    // nothing is in the way, the node has to be offered
	RunningApps        yarn.Code = "max-running-apps"              // of the queue
	UserRunningApps    yarn.Code = "max-running-apps-of-user"
	NextUpdate         yarn.Code = "waits-for-next-update" // demands are looked at by a timer
	NothingFree        yarn.Code = "nothing-free"          // on any node of the partition Subject; the most that one has
	PreemptionWaits    yarn.Code = "preemption-under-way"  // Count containers of Needed in all have had notice for it, or for its queue, Subject

	// Of opportunistic containers: Count is how many are asked for, Max the nodes that were looked at.
	NoNodeQueue    yarn.Code = "no-node-with-queue"
	NodeQueuesFull yarn.Code = "node-queues-full"     // Detail counts the nodes by what is in the way, Subject is the nearest
	NextCall       yarn.Code = "comes-with-next-call" // Max is what one call gets

	// Of a gang, see resourcemanager/engine/gang.go: Count of Max containers; Detail is seconds, where no other is named.
	GangGathers yarn.Code = "gang-incomplete"        // what it has is withheld from the master
	GangSmall   yarn.Code = "gang-asked-for-in-part" // less is asked for
	GangRests   yarn.Code = "gang-gave-back"         // Count is what it had
	GangInLine  yarn.Code = "gang-waits-for-turn"    // Detail is the application whose gang tries
	GangNever   yarn.Code = "gang-cannot-fit"        // Count is what would fit an empty cluster
)

// Reasons why a queue that was made on demand is not deleted.
const (
	KeptRoot  yarn.Code = "root-queue"
	KeptNamed yarn.Code = "named-by-allocation-file"
	KeptBusy  yarn.Code = "has-applications"
	KeptBelow yarn.Code = "has-queues-below" // Detail, which is not deleted either
	KeptPlan  yarn.Code = "queue-of-a-plan"  // whose reservations decide when it goes
	KeptAll   yarn.Code = "no-queue-is-deleted-on-request"
)
