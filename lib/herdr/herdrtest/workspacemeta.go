package herdrtest

type workspaceMetadataParams struct {
	WorkspaceID string             `json:"workspace_id" need:""`
	Source      string             `json:"source" need:""`
	Tokens      map[string]*string `json:"tokens" need:""`
	Seq         *uint64            `json:"seq"`
	TTLMS       *int64             `json:"ttl_ms"`
}

func (s *Server) reportWorkspaceMetadata(p workspaceMetadataParams) (obj, *apiError) {
	w, err := s.findWorkspace(p.WorkspaceID)
	if err != nil {
		return nil, err
	}
	if len(p.Tokens) == 0 {
		return nil, fail("invalid_metadata_token", "missing token to set or clear")
	}
	check := metadataParams{Source: p.Source, Tokens: p.Tokens, TTLMS: p.TTLMS}
	if err := check.check(); err != nil {
		return nil, err
	}
	if over(w.meta.tokens, p.Tokens) {
		return nil, fail("metadata_token_limit", "workspace metadata may contain at most %d tokens", maxTokens)
	}
	accepted, err := w.meta.accepts("workspace", p.Source, p.Seq)
	if err != nil || !accepted {
		return orOK(err)
	}
	if w.meta.setTokens(p.Tokens, p.TTLMS) {
		s.emit(event{kind: "workspace.metadata_updated", noHook: true, data: obj{"workspace": s.workspaceInfo(w)}})
	}
	return ok()
}
