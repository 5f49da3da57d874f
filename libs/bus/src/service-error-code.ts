const NUMBERS: Readonly<Record<string, number>> = {
  invalid_request: 400,
  invalid_token: 401,
  denied: 403,
  forbidden: 403,
  deadline_exceeded: 408,
  timeout: 408,
  payload_too_large: 413,
  overloaded: 429,
  internal: 500,
  storage_full: 507,
  invalid_reply: 502,
  no_responders: 503,
  disconnected: 503,
};

/**
 * The number of an error code in `Nats-Service-Error-Code`, after HTTP's, for NATS tools only: Switchyard's own clients read the code
 * itself. 409 is every other declared error.
 */
export function numericCode(code: string): number {
  if (Object.hasOwn(NUMBERS, code)) return NUMBERS[code] ?? 409;
  return code.startsWith("unknown_") ? 404 : 409;
}
