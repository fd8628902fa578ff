package herdrtest

import (
	"encoding/json"

	"sessionhub/lib/herdr"
)

// Offline answers what herdr's command line does without a server: plugin.link
// and plugin.list. The environment is the command's own.
func Offline(getenv func(string) string, d Dialect, method, id string, params any) ([]byte, error) {
	s := &Server{cfg: Config{Home: getenv("HOME"), Dialect: d, Env: []string{
		"HOME=" + getenv("HOME"), "XDG_CONFIG_HOME=" + getenv("XDG_CONFIG_HOME"), "XDG_STATE_HOME=" + getenv("XDG_STATE_HOME"),
	}}}
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	c := &exchange{server: s, req: wireRequest{id: id, method: method, params: raw}}
	result, aerr := s.handle(methods()[method], c)
	if aerr != nil {
		return nil, &herdr.Error{Method: method, Code: aerr.code, Message: aerr.message}
	}
	return answerLine(id, result, nil), nil
}
