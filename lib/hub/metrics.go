package hub

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"sessionhub/lib/hub/store"
)

// scrapeWait bounds what a scrape asks of the store.
const scrapeWait = 5 * time.Second

type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	handler  http.Handler
}

func newMetrics(s *store.Store, now func() time.Time) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sessionhub_requests_total", Help: "Requests by method, route and status.",
		}, []string{"method", "route", "status"}),
	}
	m.registry.MustRegister(m.requests, &gauges{store: s, now: now})
	m.handler = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
	return m
}

func (m *metrics) serve(w http.ResponseWriter, r *request) (any, error) {
	m.handler.ServeHTTP(w, r.Request)
	return nil, nil
}

func (m *metrics) count(method, pattern string, status int) {
	if status == 0 {
		status = http.StatusOK
	}
	if pattern == "" {
		method, pattern = "", "none" // what a stranger asks for must not grow the metrics
	}
	m.requests.WithLabelValues(method, pattern, strconv.Itoa(status)).Inc()
}

// gauges are read from the store when they are asked for.
type gauges struct {
	store *store.Store
	now   func() time.Time
}

func (*gauges) desc() (sessions, recorded, skew *prometheus.Desc) {
	return prometheus.NewDesc("sessionhub_live_sessions", "Live sessions by machine.", []string{"machine"}, nil),
		prometheus.NewDesc("sessionhub_recorded_total", "Records accepted from a machine's queue.", []string{"machine"}, nil),
		prometheus.NewDesc("sessionhub_clock_skew_seconds", "A machine's clock minus the hub's.", []string{"machine"}, nil)
}

// Describe names the metrics.
func (g *gauges) Describe(c chan<- *prometheus.Desc) {
	a, b, d := g.desc()
	c <- a
	c <- b
	c <- d
}

// Collect reads them.
func (g *gauges) Collect(c chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeWait)
	defer cancel()
	sessions, recorded, skew := g.desc()
	list, err := g.store.Machines(ctx, g.now())
	if err != nil {
		c <- prometheus.NewInvalidMetric(sessions, err)
		return
	}
	for _, m := range list {
		c <- prometheus.MustNewConstMetric(sessions, prometheus.GaugeValue, float64(m.Live), m.Machine)
		c <- prometheus.MustNewConstMetric(recorded, prometheus.CounterValue, float64(m.Recorded), m.Machine)
		c <- prometheus.MustNewConstMetric(skew, prometheus.GaugeValue, float64(m.SkewMS)/1000, m.Machine)
	}
}
