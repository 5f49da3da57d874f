import {
  queueOf,
  type Command,
  type Contract,
  type Event,
  type Live,
  type Rpc,
} from "@switchyard/contracts/define";
import { descriptions } from "@switchyard/contracts/explain/descriptions";
import { examples } from "@switchyard/contracts/explain/examples";
import { HEADERS } from "@switchyard/contracts/headers";
import { allContracts } from "@switchyard/contracts/registry";
import { allConsumers, allStreams } from "@switchyard/topology/streams";
import { messageSchemas, schemaNames, type MessageSchema } from "./message-schemas.ts";
import { shareSchemas } from "./shared-schemas.ts";

type Json = Record<string, unknown>;

/** The sections of the document that contracts fill, and the schemas of their messages. */
interface Sections {
  readonly channels: Json;
  readonly operations: Json;
  readonly payloads: Json;
  readonly messages: Readonly<Record<string, MessageSchema>>;
}

/** The AsyncAPI 3.1 description of everything on the bus, https://www.asyncapi.com/docs/reference/specification/v3.1.0. */
export function asyncApi(): Json {
  const messages = messageSchemas();
  const whole = Object.entries(messages).map(([name, { schema }]) => [name, schema] as const);
  const { payloads, schemas } = shareSchemas(Object.fromEntries(whole), schemaNames());
  const sections: Sections = { channels: {}, operations: {}, payloads, messages };
  for (const contract of allContracts) {
    if (contract.kind === "rpc") addRpc(contract, sections);
    else addMessage(contract, sections);
  }
  return {
    asyncapi: "3.1.0",
    info: {
      title: "Switchyard",
      version: "1.0.0",
      description:
        "Every subject of Switchyard. `{caller}` is the NATS user's own name: a user may publish only under its own token.",
      license: { name: "MIT" },
    },
    defaultContentType: "application/json",
    servers: { nats: { host: "127.0.0.1:4222", protocol: "nats", protocolVersion: "2.14" } },
    channels: sections.channels,
    operations: sections.operations,
    components: { schemas, messageTraits: { traced: { headers: traceHeaders() } } },
    "x-nats-jetstream": { streams: allStreams, consumers: allConsumers },
  };
}

function addRpc(contract: Rpc, sections: Sections): void {
  const { channels, operations } = sections;
  const key = `rpc.${contract.name}`;
  channels[key] = {
    address: contract.subject,
    description: contract.summary,
    parameters: parametersOf(contract),
    messages: { request: message(`${contract.name}.request`, contract, sections) },
  };
  channels[`${key}.reply`] = {
    address: null,
    description: `Replies to ${contract.name}.`,
    messages: { reply: message(`${contract.name}.reply`, contract, sections) },
  };
  operations[key] = {
    action: "receive",
    summary: contract.summary,
    description: `${contract.summary} A caller waits ${contract.timeoutMs} ms unless it sets a deadline.${roleText(contract)}`,
    channel: { $ref: `#/channels/${key}` },
    bindings: { nats: { queue: queueOf(contract.name), bindingVersion: "0.1.0" } },
    messages: [{ $ref: `#/channels/${key}/messages/request` }],
    reply: {
      address: { location: "$message.header#/reply" },
      channel: { $ref: `#/channels/${key}.reply` },
      messages: [{ $ref: `#/channels/${key}.reply/messages/reply` }],
    },
  };
}

function addMessage(contract: Command | Event | Live, sections: Sections): void {
  const { channels, operations } = sections;
  const key = `${contract.kind}.${contract.name}`;
  channels[key] = {
    address: contract.subject,
    description: contract.summary,
    parameters: parametersOf(contract),
    messages: { message: message(contract.name, contract, sections) },
  };
  operations[key] = {
    action: contract.kind === "command" ? "receive" : "send",
    summary: contract.summary,
    description: `${contract.summary} ${DELIVERY[contract.kind]}${contract.kind === "command" ? roleText(contract) : ""}`,
    channel: { $ref: `#/channels/${key}` },
    messages: [{ $ref: `#/channels/${key}/messages/message` }],
  };
}

const DELIVERY = {
  command: "The command is stored in JetStream and carried out once.",
  event: "The event is stored in JetStream; it may be delivered again.",
  live: "The message is not stored, and is lost without a reader.",
} as const;

function roleText({ role }: Rpc | Command): string {
  return role === null ? "" : ` Over HTTP it needs the role \`${role}\`.`;
}

function message(name: string, { summary }: Contract, { payloads, messages }: Sections): Json {
  return {
    name,
    summary,
    payload: payloads[name],
    examples: [{ payload: messages[name]?.example }],
    traits: [{ $ref: "#/components/messageTraits/traced" }],
  };
}

function traceHeaders(): Json {
  return {
    type: "object",
    properties: {
      [HEADERS.traceparent]: text(
        "W3C trace context.",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
      ),
      [HEADERS.correlationId]: text(
        "Joins all messages with one cause: the run id, or the id of the first request.",
        "team-a~report-7",
      ),
      [HEADERS.deadline]: text(
        "Deadline of a request in milliseconds since the Unix epoch.",
        "1764244800000",
      ),
      [HEADERS.messageId]: text(
        "JetStream's deduplication id: the same id again is stored once.",
        "team-a~report-7:started",
      ),
      [HEADERS.claim]: text(
        "JSON reference to a payload that is too large for a message.",
        '{"bucket":"YARD_PAYLOADS","name":"3f2504e0"}',
      ),
      [HEADERS.attachment]: text(
        "JSON reference to bytes beside a request, such as an archive.",
        '{"bucket":"YARD_PAYLOADS","name":"3f2504e0"}',
      ),
    },
  };
}

function text(description: string, example: string): Json {
  return { type: "string", description, examples: [example] };
}

function parametersOf(contract: Contract): Json {
  const names = [...contract.subject.matchAll(/\{([a-zA-Z]+)\}/g)].map((match) => match[1] ?? "");
  return Object.fromEntries(
    names.map((name) => [
      name,
      {
        description: PARAMETERS[name] ?? descriptions[name],
        examples: [PARAMETER_EXAMPLES[name] ?? examples[name]],
      },
    ]),
  );
}

/** Tokens of subjects that mean something else than a field of that name, or have no field. */
const PARAMETERS: Readonly<Record<string, string>> = {
  broker: "Id of the broker's process.",
  id: "Id of the object that it is about.",
  toolbox: "Id of the toolbox's process.",
  caller: "The NATS user's own name.",
  process: "Id of the process.",
  progressId: "The value of `progress` in the call.",
  provider: "The tool provider that got the tokens.",
  runId: "Name of the run, without its owner.",
};

const PARAMETER_EXAMPLES: Readonly<Record<string, string>> = {
  broker: "VMKS6MHK0SRIJ8XRO7XCSL",
  toolbox: "VMKS6MHK0SRIJ8XRO7XCSL",
  process: "VMKS6MHK0SRIJ8XRO7XCSL",
  progressId: "progress-1",
  runId: "report-7",
};
