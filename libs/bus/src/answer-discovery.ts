import { nuid, type NatsConnection, type Subscription } from "@nats-io/transport-node";
import { isInbox } from "@switchyard/contracts/inboxes";

export interface EndpointStats {
  readonly name: string;
  readonly subject: string;
  readonly queueGroup: string;
  readonly description: string;
  readonly requests: number;
  /** Failures of the service itself; refusals and other declared answers do not count. */
  readonly errors: number;
  /** Messages that are not calls: their reply subject is not an inbox of the caller, or they were stored under another subject. */
  readonly ignored: number;
  /** Time in progress up to the reply, over all requests, in milliseconds. */
  readonly busyMs: number;
  readonly lastError: string;
}

export interface Discovery {
  stop(): void;
}

const NANOS_PER_MS = 1_000_000;

/**
 * Answers NATS service discovery, so that `nats micro ls|info|stats` shows the service:
 * https://github.com/nats-io/nats-architecture-and-design/blob/main/adr/ADR-32.md
 */
export function answerDiscovery(
  nc: NatsConnection,
  service: { readonly name: string; readonly version: string; readonly description: string },
  endpoints: () => EndpointStats[],
): Discovery {
  const identity = { name: service.name, id: nuid.next(), version: service.version, metadata: {} };
  const started = new Date().toISOString();
  const answers = {
    PING: () => ({ ...identity, type: "io.nats.micro.v1.ping_response" }),
    INFO: () => ({
      ...identity,
      type: "io.nats.micro.v1.info_response",
      description: service.description,
      endpoints: endpoints().map(infoOf),
    }),
    STATS: () => ({
      ...identity,
      type: "io.nats.micro.v1.stats_response",
      started,
      endpoints: endpoints().map(statsOf),
    }),
  };
  const subscriptions: Subscription[] = [];
  for (const [verb, answer] of Object.entries(answers)) {
    for (const subject of [
      `$SRV.${verb}`,
      `$SRV.${verb}.${identity.name}`,
      `$SRV.${verb}.${identity.name}.${identity.id}`,
    ]) {
      subscriptions.push(
        nc.subscribe(subject, {
          callback: (error, message) => {
            if (error === null && isInbox(message.reply ?? "") && !nc.isClosed())
              message.respond(JSON.stringify(answer()));
          },
        }),
      );
    }
  }
  return {
    stop: () => {
      for (const subscription of subscriptions)
        if (!subscription.isClosed()) subscription.unsubscribe();
    },
  };
}

function infoOf(endpoint: EndpointStats): object {
  const { name, subject, queueGroup, description } = endpoint;
  return { name, subject, queue_group: queueGroup, metadata: { description } };
}

function statsOf(endpoint: EndpointStats): object {
  const { name, subject, queueGroup, requests, errors, ignored, busyMs, lastError } = endpoint;
  return {
    name,
    subject,
    queue_group: queueGroup,
    num_requests: requests,
    num_errors: errors,
    last_error: lastError,
    processing_time: Math.round(busyMs * NANOS_PER_MS),
    average_processing_time: requests === 0 ? 0 : Math.round((busyMs / requests) * NANOS_PER_MS),
    data: { ignored },
  };
}
