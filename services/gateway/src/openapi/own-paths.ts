import { descriptions } from "@switchyard/contracts/explain/descriptions";
import { exampleOf } from "@switchyard/contracts/explain/example-of";
import { explainedSchema } from "@switchyard/contracts/explain/explained-schema";
import type { z } from "zod";
import { EVENT_FEED } from "../routes/event-feed.ts";
import { Me } from "../routes/me.ts";
import { System } from "../routes/system.ts";
import { generalProblems } from "./responses.ts";
import { ownSchemaNames } from "./schema-names.ts";
import type { Json } from "./shared-schemas.ts";

/** The operations without a contract: streams of events, and what the gateway answers by itself or by combining several answers. */
export function ownPaths(): Json {
  return { ...streamPaths(), ...singlePaths() };
}

function streamPaths(): Json {
  return {
    "/runs/{runId}/events": {
      get: operation("followRun", {
        tag: "runs",
        role: "viewer",
        summary: "Follows a run: its events under their own numbers, and live text as delta.",
        description:
          "Server-sent events. After a cut, open the stream again with the last id in Last-Event-ID: no event is lost.",
        parameters: [
          {
            name: "runId",
            in: "path",
            required: true,
            description: descriptions["runId"],
            schema: { type: "string" },
            example: "team-a~report-7",
          },
          {
            name: "follow",
            in: "query",
            required: false,
            description:
              "False: the stream ends with the events that exist; true: it continues until the run ends.",
            schema: { type: "boolean" },
            example: true,
          },
          lastEventId("7"),
        ],
        answer: stream('id: 7\nevent: finished\ndata: {"output":"It has three services."}\n\n'),
        more: [404],
      }),
    },
    "/events": {
      get: operation("followEvents", {
        tag: "events",
        role: EVENT_FEED.role,
        contract: EVENT_FEED.name,
        summary: "Follows the events of everything that the caller owns.",
        description:
          "Server-sent events from now on. After a cut, open the stream again with the last id in Last-Event-ID. With follow=false the stored events, the oldest first.",
        parameters: [
          query("noun", "Only events about this kind of object.", "run"),
          query("id", "Only events about this object of the noun.", "team-a~report-7"),
          query("event", "Only events of the noun with this name.", "rejected"),
          {
            name: "follow",
            in: "query",
            required: false,
            description:
              "False: the stream ends with the events that exist; it needs noun and event.",
            schema: { type: "boolean" },
            example: true,
          },
          lastEventId("41"),
        ],
        answer: stream('id: 41\nevent: finished\ndata: {"runId":"team-a~report-7"}\n\n'),
        more: [404],
      }),
    },
  };
}

function singlePaths(): Json {
  return {
    "/audit/export": {
      get: operation("exportAudit", {
        tag: "audit",
        role: "admin",
        summary:
          "Exports records of the audit as lines of JSON, as yard audit verify --file checks them.",
        description:
          "The oldest records come first; each part ends with a line that the policy service has signed.",
        parameters: [
          query("since", "Only records of this time or later, ISO 8601.", "2026-11-01T00:00:00Z"),
          query("until", "Only records before this time, ISO 8601.", "2026-12-01T00:00:00Z"),
        ],
        answer: {
          "application/x-ndjson": {
            schema: { type: "string" },
            example: '{"v":1,"service":"policy","kind":"decision"}\n',
          },
        },
      }),
    },
    "/system": {
      get: operation("getSystem", {
        tag: "system",
        role: "viewer",
        summary: "Lists the services that answer, and the lengths of streams and queues.",
        description: "Each replica of a service is listed by itself.",
        answer: json(System, "System"),
      }),
    },
    "/me": {
      get: operation("getMe", {
        tag: "me",
        role: "viewer",
        summary: "Returns the user of the credential, and what it may do.",
        description: "A user interface shows the operations in `may` alone.",
        answer: json(Me, "Me"),
      }),
    },
  };
}

interface OwnOperation {
  readonly tag: string;
  readonly role: string;
  readonly contract?: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters?: readonly Json[];
  readonly answer: Json;
  /** Statuses beside those of any operation. */
  readonly more?: readonly number[];
}

function operation(
  operationId: string,
  { tag, role, contract, summary, description, parameters, answer, more = [] }: OwnOperation,
): Json {
  return {
    operationId,
    tags: [tag],
    summary,
    description,
    ...(contract !== undefined && { "x-contract": contract }),
    "x-role": role,
    ...(parameters !== undefined && { parameters }),
    responses: {
      200: { description: "It succeeded.", content: answer },
      ...generalProblems(...more),
    },
  };
}

function stream(example: string): Json {
  return { "text/event-stream": { schema: { type: "string" }, example } };
}

function json(schema: z.ZodType, place: string): Json {
  const explained = explainedSchema(schema, { io: "output", place, names: ownSchemaNames });
  return { "application/json": { schema: explained, example: exampleOf(explained) } };
}

function query(name: string, description: string, example: string): Json {
  return { name, in: "query", required: false, description, schema: { type: "string" }, example };
}

function lastEventId(example: string): Json {
  return {
    name: "Last-Event-ID",
    in: "header",
    required: false,
    description: "Id of the last event that was received; the stream continues behind it.",
    schema: { type: "string" },
    example,
  };
}
