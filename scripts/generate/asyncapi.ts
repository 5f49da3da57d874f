import {
  queueOf,
  type Command,
  type Contract,
  type Event,
  type Live,
  type Rpc,
} from "@switchyard/contracts/define";
import { HEADERS } from "@switchyard/contracts/headers";
import { allContracts } from "@switchyard/contracts/registry";
import { allConsumers, allStreams } from "@switchyard/contracts/streams";
import { messageSchemas, schemaNames } from "./message-schemas.ts";
import { shareSchemas } from "./shared-schemas.ts";

type Json = Record<string, unknown>;

/** The sections of the document that contracts fill, and the schemas of their messages. */
interface Sections {
  readonly channels: Json;
  readonly operations: Json;
  readonly payloads: Json;
}

/** The AsyncAPI 3.1 description of everything on the bus, https://www.asyncapi.com/docs/reference/specification/v3.1.0. */
export async function asyncApi(): Promise<Json> {
  const { payloads, schemas } = shareSchemas(messageSchemas(), await schemaNames());
  const sections: Sections = { channels: {}, operations: {}, payloads };
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

function addRpc(contract: Rpc, { channels, operations, payloads }: Sections): void {
  const key = `rpc.${contract.name}`;
  channels[key] = {
    address: contract.subject,
    description: contract.summary,
    parameters: parametersOf(contract),
    messages: { request: message(payloads[`${contract.name}.request`]) },
  };
  channels[`${key}.reply`] = {
    address: null,
    messages: { reply: message(payloads[`${contract.name}.reply`]) },
  };
  operations[key] = {
    action: "receive",
    summary: contract.summary,
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

function addMessage(
  contract: Command | Event | Live,
  { channels, operations, payloads }: Sections,
): void {
  const key = `${contract.kind}.${contract.name}`;
  channels[key] = {
    address: contract.subject,
    description: contract.summary,
    parameters: parametersOf(contract),
    messages: { message: message(payloads[contract.name]) },
  };
  operations[key] = {
    action: contract.kind === "command" ? "receive" : "send",
    summary: contract.summary,
    channel: { $ref: `#/channels/${key}` },
    messages: [{ $ref: `#/channels/${key}/messages/message` }],
  };
}

function message(payload: unknown): Json {
  return { payload, traits: [{ $ref: "#/components/messageTraits/traced" }] };
}

function traceHeaders(): Json {
  const text = { type: "string" };
  return {
    type: "object",
    properties: {
      [HEADERS.traceparent]: text,
      [HEADERS.correlationId]: text,
      [HEADERS.deadline]: text,
      [HEADERS.messageId]: text,
      [HEADERS.claim]: text,
      [HEADERS.attachment]: text,
    },
  };
}

function parametersOf(contract: Contract): Json {
  const names = [...contract.subject.matchAll(/\{([a-zA-Z]+)\}/g)].map((match) => match[1] ?? "");
  return Object.fromEntries(names.map((name) => [name, { description: PARAMETERS[name] ?? name }]));
}

const PARAMETERS: Record<string, string> = {
  caller: "The NATS user's own name",
  server: "Id of an MCP server",
  agent: "Name of an agent",
  skill: "Name of a skill",
  runId: "Id of a run",
  bundle: "Name of a policy bundle",
};
