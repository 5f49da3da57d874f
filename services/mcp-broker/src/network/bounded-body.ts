/** The response with its body sent through the transform. */
export function withBody(
  response: Response,
  transform: TransformStream<Uint8Array, Uint8Array>,
): Response {
  if (response.body === null) return response;
  const { status, statusText, headers } = response;
  const body = response.body.pipeThrough(transform);
  const changed = new Response(body, { status, statusText, headers });
  // The transport reads the address to see a redirect; a new response has none of its own.
  Object.defineProperty(changed, "url", { value: response.url });
  return changed;
}

/** Ends a body that grows beyond the limit, counted as it is read: unpacked, and whatever its headers promised. */
export function bodyBound(maxBytes: number): TransformStream<Uint8Array, Uint8Array> {
  let total = 0;
  return new TransformStream({
    transform(chunk, controller) {
      total += chunk.length;
      if (total > maxBytes) controller.error(tooLong(maxBytes));
      else controller.enqueue(chunk);
    },
  });
}

export function tooLong(maxBytes: number): Error {
  return new Error(`a message exceeds the limit of ${maxBytes} bytes`);
}
