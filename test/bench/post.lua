-- For wrk: posts a file, on connections that are kept ("keep-alive") or not ("close"), and says at the end what came of
-- it as one line of JSON.
function init(args)
  wrk.method = "POST"
  wrk.headers["Content-Type"] = "application/json"
  wrk.headers["Connection"] = args[2]
  local file = assert(io.open(args[1], "rb"))
  wrk.body = file:read("*a")
  file:close()
end

function done(summary)
  local e = summary.errors
  local failed = e.connect + e.read + e.write + e.status + e.timeout
  io.write(string.format('{"requests":%d,"seconds":%f,"failed":%d}\n', summary.requests, summary.duration / 1e6, failed))
end
