package socket

import (
	"net"
	"syscall"
)

// peer is the user at the other end.
func peer(conn *net.UnixConn) (uid int, known bool) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, false
	}
	var cred *syscall.Ucred
	if cerr := raw.Control(func(fd uintptr) {
		cred, err = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); cerr != nil || err != nil {
		return 0, false
	}
	return int(cred.Uid), true
}
