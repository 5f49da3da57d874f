/** Header names on the wire. Two of them are NATS', one is W3C's, the rest are Switchyard's. */
export const HEADERS = {
  /** Absolute deadline of an rpc, in milliseconds since the Unix epoch. */
  deadline: "Yard-Deadline",
  /** Joins all messages with one cause: the run id, or the id of the first request. */
  correlationId: "Yard-Correlation-Id",
  /** Name of the contract, such as `run.start`. */
  contract: "Yard-Contract",
  /** A user token: the user for whom the gateway sends the message. From any other sender it is refused. */
  user: "Yard-User",
  /** Claim check: the JSON reference to a payload stored in the object store. */
  claim: "Yard-Claim",
  /** The JSON reference to bytes beside a request, such as an archive, stored in the object store. */
  attachment: "Yard-Attachment",
  /** W3C trace context, https://www.w3.org/TR/trace-context/. */
  traceparent: "traceparent",
  /** JetStream's deduplication id. */
  messageId: "Nats-Msg-Id",
  /** The lifetime of a stored message, such as `10m`. */
  ttl: "Nats-TTL",
  /** ADR-51: when a message is due, under which subject of its stream, and how long it then lasts. */
  schedule: "Nats-Schedule",
  scheduleTarget: "Nats-Schedule-Target",
  scheduleTtl: "Nats-Schedule-TTL",
  /** ADR-32: error text and numeric code of a service reply. */
  serviceError: "Nats-Service-Error",
  serviceErrorCode: "Nats-Service-Error-Code",
} as const;
