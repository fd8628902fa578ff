package herdrtest

import (
	"os/exec"
	"strconv"
	"strings"
)

func parentOf(pid int) int {
	out, _ := exec.Command("ps", "-o", "ppid=", "-p", strconv.Itoa(pid)).Output()
	n, _ := strconv.Atoi(strings.TrimSpace(string(out)))
	return n
}
