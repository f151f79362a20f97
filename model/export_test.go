package model

// SpaceSnapshots sets how far apart a turn keeps its snapshots.
func (t *Turn) SpaceSnapshots(entries int) { t.spacing = entries }

// Snapshots counts them.
func (t *Turn) Snapshots() int { return len(t.snapshots) }
