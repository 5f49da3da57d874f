/** Sets the `Accept` header that the official SDK requires, for a client that accepts anything or sends no `Accept`. */
export function lenientRequest(request: Request): Request {
  const accept = request.headers.get("accept") ?? "*/*";
  if (!/(?:^|,)\s*\*\/\*/.test(accept)) return request;
  const headers = new Headers(request.headers);
  const isGet = request.method === "GET";
  headers.set("accept", isGet ? "text/event-stream" : "application/json, text/event-stream");
  const { method, signal, url } = request;
  return new Request(url, { method, headers, signal });
}
