/** Header names on the wire. Two of them are NATS', one is W3C's, the rest are ours. */
export const HEADERS = {
  /** Absolute deadline of an rpc, in milliseconds since the Unix epoch. */
  deadline: "Yard-Deadline",
  /** Joins everything that one cause led to: the run id, or the id of the first request. */
  correlationId: "Yard-Correlation-Id",
  /** Name of the contract, such as `run.start`. */
  contract: "Yard-Contract",
  /** A user token: for whom the gateway sends the message. From anybody else it is refused. */
  user: "Yard-User",
  /** Claim check: the JSON reference to a payload kept in the object store. */
  claim: "Yard-Claim",
  /** The JSON reference to bytes beside a request, such as an archive, kept in the object store. */
  attachment: "Yard-Attachment",
  /** W3C trace context, https://www.w3.org/TR/trace-context/. */
  traceparent: "traceparent",
  /** JetStream's deduplication id. */
  messageId: "Nats-Msg-Id",
  /** How long a stored message lasts, such as `10m`. */
  ttl: "Nats-TTL",
  /** ADR-51: when a message is to come, under which subject of its stream, and how long it then lasts. */
  schedule: "Nats-Schedule",
  scheduleTarget: "Nats-Schedule-Target",
  scheduleTtl: "Nats-Schedule-TTL",
  /** ADR-32: error text and numeric code of a service reply. */
  serviceError: "Nats-Service-Error",
  serviceErrorCode: "Nats-Service-Error-Code",
} as const;
