package model

// early are the instants of chunks whose event came first. A daemon may send a
// million events before the first of their chunks, in their order mostly, so those
// that follow each other are a list; the zero early is ready.
type early struct {
	first  uint64  // sequence of the first in the list
	list   []int64 // of sequences that follow each other; taken where it was
	gone   int     // that were taken from the list's front
	others map[uint64]int64
}

// taken is no instant: it stands before all that a clock can tell.
const taken = noTime + 1

func (e *early) keep(sequence uint64, at int64) {
	delete(e.others, sequence)
	if e.gone == len(e.list) {
		e.first, e.list, e.gone = sequence, e.list[:0], 0
	}
	switch i := sequence - e.first; {
	case i == uint64(len(e.list)):
		e.list = append(e.list, at)
	case i < uint64(len(e.list)):
		e.list[i] = at
		e.gone = min(e.gone, int(i))
	default:
		if e.others == nil {
			e.others = make(map[uint64]int64)
		}
		e.others[sequence] = at
	}
}

func (e *early) take(sequence uint64) (at int64, ok bool) {
	if i := sequence - e.first; i < uint64(len(e.list)) && e.list[i] != taken {
		at, e.list[i] = e.list[i], taken
		for e.gone < len(e.list) && e.list[e.gone] == taken {
			e.gone++
		}
		if e.gone == len(e.list) && e.gone > slotBlock {
			e.list, e.gone = nil, 0
		}
		return at, true
	}
	if at, ok = e.others[sequence]; ok {
		if delete(e.others, sequence); len(e.others) == 0 {
			e.others = nil // a map never shrinks
		}
	}
	return at, ok
}
