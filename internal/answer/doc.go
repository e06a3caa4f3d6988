// Package answer is what the web services of every daemon have in common: the
// two forms of a document and the choice between them, texts that callers share,
// refusals, and the RemoteException that clients of Hadoop look at. The services
// decide what they answer.
package answer
