import { z } from "zod";
import type { Command, Contract, Event, Live, Rpc } from "@switchyard/contracts/define";
import { HEADERS } from "@switchyard/contracts/headers";
import { queueOf } from "@switchyard/contracts/nats-permissions";
import { allContracts } from "@switchyard/contracts/registry";
import { allConsumers, allStreams } from "@switchyard/contracts/streams";

type Json = Record<string, unknown>;

/** The AsyncAPI 3.1 description of everything on the bus, https://www.asyncapi.com/docs/reference/specification/v3.1.0. */
export function asyncApi(): Json {
  const channels: Json = {};
  const operations: Json = {};
  for (const contract of allContracts) {
    if (contract.kind === "rpc") addRpc(contract, channels, operations);
    else addMessage(contract, channels, operations);
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
    channels,
    operations,
    components: { messageTraits: { traced: { headers: traceHeaders() } } },
    "x-nats-jetstream": { streams: allStreams, consumers: allConsumers },
  };
}

function addRpc(contract: Rpc, channels: Json, operations: Json): void {
  const key = `rpc.${contract.name}`;
  channels[key] = {
    address: contract.subject,
    description: contract.summary,
    parameters: parametersOf(contract),
    messages: { request: message(contract.request, "input") },
  };
  channels[`${key}.reply`] = {
    address: null,
    messages: { reply: { ...replyMessage(contract) } },
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

function addMessage(contract: Command | Event | Live, channels: Json, operations: Json): void {
  const key = `${contract.kind}.${contract.name}`;
  channels[key] = {
    address: contract.subject,
    description: contract.summary,
    parameters: parametersOf(contract),
    messages: {
      message: message(contract.payload, contract.kind === "command" ? "input" : "output"),
    },
  };
  operations[key] = {
    action: contract.kind === "command" ? "receive" : "send",
    summary: contract.summary,
    channel: { $ref: `#/channels/${key}` },
    messages: [{ $ref: `#/channels/${key}/messages/message` }],
  };
}

/** `{ok:true,value}` or `{ok:false,code,message,data}`; the codes are the contract's and the standard ones. */
function replyMessage(contract: Rpc): Json {
  const declared = Object.entries(contract.errors).map(([code, spec]) =>
    z.object({ ok: z.literal(false), code: z.literal(code), message: z.string(), data: spec.data }),
  );
  const reply = z.union([
    z.object({ ok: z.literal(true), value: contract.reply }),
    ...declared,
    z.object({ ok: z.literal(false), code: z.string(), message: z.string(), data: z.null() }),
  ]);
  return message(reply, "output");
}

function message(schema: z.ZodType, io: "input" | "output"): Json {
  const payload: Json = { ...z.toJSONSchema(schema, { target: "draft-7", io }) };
  delete payload["$schema"];
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
