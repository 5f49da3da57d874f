import { connect, consumerOpts, Events, type NatsConnection } from "nats";

/**
 * A client as any team might write it: the older npm package `nats`, plain JSON, no header, no
 * credentials, nothing of ours.
 */
export interface PlainClient {
  readonly connection: NatsConnection;
  publish(subject: string, body: unknown): void;
  /** Publishes text unchanged, JSON or not. */
  publishText(subject: string, text: string): void;
  /** The next event on a subject filter that the predicate accepts, from the beginning of the stream. */
  waitForEvent(filter: string, accept: (event: PlainEvent) => boolean): Promise<PlainEvent>;
  /** Every event of a run up to its end. */
  eventsOfRun(runId: string): Promise<PlainEvent[]>;
  /** The server's next refusal, such as a publish without permission. */
  nextError(): Promise<string>;
  close(): Promise<void>;
}

export interface PlainEvent {
  readonly name: string;
  readonly subject: string;
  readonly payload: Record<string, unknown>;
}

const TERMINAL = new Set(["finished", "failed", "rejected"]);

export async function plainClient(url: string): Promise<PlainClient> {
  const connection = await connect({ servers: url, name: "a team's service" });

  async function* read(filter: string): AsyncGenerator<PlainEvent> {
    const options = consumerOpts();
    options.orderedConsumer();
    options.deliverAll();
    const subscription = await connection.jetstream().subscribe(filter, options);
    try {
      for await (const message of subscription) {
        const { subject } = message;
        yield { name: subject.split(".").at(-1) ?? "", subject, payload: message.json() };
      }
    } finally {
      subscription.unsubscribe();
    }
  }

  return {
    connection,
    publish: (subject, body) => connection.publish(subject, JSON.stringify(body)),
    publishText: (subject, text) => connection.publish(subject, text),
    async waitForEvent(filter, accept) {
      for await (const event of read(filter)) if (accept(event)) return event;
      throw new Error(`the subscription of ${filter} ended`);
    },
    async eventsOfRun(runId) {
      const events: PlainEvent[] = [];
      for await (const event of read(`yard.evt.run.me.${runId}.>`)) {
        events.push(event);
        if (TERMINAL.has(event.name)) return events;
      }
      throw new Error(`the events of ${runId} ended before the run did`);
    },
    async nextError() {
      for await (const status of connection.status()) {
        if (status.type === Events.Error) return JSON.stringify(status.data);
      }
      throw new Error("the connection ended without an error");
    },
    close: () => connection.close(),
  };
}
