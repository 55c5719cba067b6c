-- Sends the request of the environment variables and prints the result as one line of JSON.
wrk.method = os.getenv("BENCH_METHOD")
wrk.body = os.getenv("BENCH_BODY")
for name, value in string.gmatch(os.getenv("BENCH_HEADERS") or "", "([^\n:]+): ([^\n]*)") do
  wrk.headers[name] = value
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    'BENCH {"requests":%d,"micros":%d,"bytes":%d,"failed":%d,"p50":%d,"p99":%d}\n',
    summary.requests, summary.duration, summary.bytes,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout,
    latency:percentile(50), latency:percentile(99)))
end
