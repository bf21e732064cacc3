package store

// DataEnd is dataEnd, for tests that copy files with holes.
var DataEnd = dataEnd
