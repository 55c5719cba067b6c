-- Sends the request of the environment variables and prints the result as one line of JSON. In the
-- body, {client} is the number of one of BENCH_CLIENTS clients, and {number} differs in each request.
local template = os.getenv("BENCH_BODY")
local clients = tonumber(os.getenv("BENCH_CLIENTS"))
local number = os.time() * 1000000

wrk.method = os.getenv("BENCH_METHOD")
wrk.body = template
for name, value in string.gmatch(os.getenv("BENCH_HEADERS") or "", "([^\n:]+): ([^\n]*)") do
  wrk.headers[name] = value
end

if clients then
  function request()
    number = number + 1
    local body = template:gsub("{client}", number % clients):gsub("{number}", string.format("%.0f", number))
    return wrk.format(nil, nil, nil, body)
  end
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    'BENCH {"requests":%d,"micros":%d,"bytes":%d,"failed":%d,"p50":%d}\n',
    summary.requests, summary.duration, summary.bytes,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout,
    latency:percentile(50)))
end
