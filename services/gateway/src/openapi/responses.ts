import { errorTexts } from "@switchyard/contracts/explain/error-texts";
import { exampleOf } from "@switchyard/contracts/explain/example-of";
import { explainedSchema } from "@switchyard/contracts/explain/explained-schema";
import { getServer } from "@switchyard/contracts/mcp-broker/mcp-servers";
import type { z } from "zod";
import { Problem, problemBody, statusOf } from "../problems/problem.ts";
import { isAboutServer, placeholders } from "../routes/route-shape.ts";
import type { Route } from "../routes/route-table.ts";
import { AcceptedCommand, ownSchemaNames } from "./schema-names.ts";
import type { Json } from "./shared-schemas.ts";

/** The body of every error. */
export const PROBLEM: Json = {
  type: "object",
  description: "What is wrong and what to do next (RFC 9457).",
  required: ["type", "title", "status", "detail", "code", "next", "requestId"],
  properties: {
    type: textField(
      "Names the kind of problem: `urn:switchyard:problem:` and the code.",
      "urn:switchyard:problem:unknown_run",
    ),
    title: textField("The code in words.", "unknown run"),
    status: { type: "integer", description: "HTTP status.", examples: [404] },
    detail: textField("What is wrong with this request.", "there is no run report-7"),
    code: textField("Stable code, as in docs/reference/subjects.md.", "unknown_run"),
    next: textField("The next step.", "send the same request again shortly"),
    data: {
      description: "Facts about the problem; the code determines their form.",
      examples: [{ runId: "team-a~report-7" }],
    },
    requestId: textField("Id of the request in logs.", "3f2504e0-4f89-41d3-9a0c-0305e82c3301"),
  },
};

function textField(description: string, example: string): Json {
  return { type: "string", description, examples: [example] };
}

/** The codes that any operation may answer with, by status: the gateway's own, and those of a service that does not answer, or answers badly. */
const GENERAL: Readonly<Record<number, readonly string[]>> = {
  400: ["invalid_request", "malformed_json", "json_too_complex"],
  401: ["unauthenticated"],
  403: ["forbidden"],
  404: ["not_found"],
  413: ["payload_too_large"],
  415: ["unsupported_media_type"],
  422: ["idempotency_key_reused"],
  429: ["overloaded", "rate_limited"],
  500: ["internal"],
  502: ["invalid_reply"],
  503: ["no_responders", "disconnected"],
  504: ["timeout", "deadline_exceeded"],
  507: ["storage_full"],
};
/** Statuses of any operation. */
const ALWAYS = [400, 401, 403, 429, 500, 502, 503, 504] as const;
/** Statuses for a body that is too large or of another type, and for data that cannot be stored. */
const WITH_BODY = [413, 415, 507] as const;

/** Commands are checked before they are stored, as far as that needs no runner. */
const COMMAND_CODES = ["unknown_agent", "unknown_run", "run_id_taken"];

/** The responses for problems that have no code of a contract, by the status in their name. */
export function sharedResponses(): Json {
  return Object.fromEntries(
    Object.entries(GENERAL).map(([status, codes]) => [
      `problem${status}`,
      problemOf(codes.map((code) => ({ code, status: Number(status) }))),
    ]),
  );
}

/** References to the shared responses of an operation without a contract. */
export function generalProblems(...more: readonly number[]): Json {
  return Object.fromEntries([...ALWAYS, ...more].map((status) => [status, shared(status)]));
}

/** Returns the responses of a route by status. Those for problems are added to `components`, so that operations share them. */
export function responsesOf(route: Route, components: Map<string, Json>): Json {
  const { contract } = route;
  const isRead = route.method === "get";
  const isCommand = contract.kind === "command";
  const place = `${contract.name}.reply`;
  const reply = explainedSchema(isCommand ? AcceptedCommand : contract.reply, {
    io: "output",
    place,
    names: ownSchemaNames,
  });
  const statuses = new Set<number>([
    ...ALWAYS,
    ...(isRead ? [] : WITH_BODY),
    ...(placeholders(route.path).length === 0 ? [] : [404]),
    ...(route.idempotent === undefined ? [] : [422]),
  ]);
  const byStatus = Map.groupBy(declaredProblems(route), ({ status }) => status);
  const problems = [...new Set([...statuses, ...byStatus.keys()])].toSorted((a, b) => a - b);
  return {
    [route.status]: {
      description: isCommand ? "The command is stored." : "It succeeded.",
      ...((isRead || route.version !== undefined) && {
        headers: { ETag: { $ref: "#/components/headers/etag" } },
      }),
      content: { "application/json": { schema: reply, example: exampleOf(reply) } },
    },
    ...(isRead && { 304: { description: "A version of If-None-Match is current." } }),
    ...Object.fromEntries(
      problems.map((status) => {
        const declared = byStatus.get(status) ?? [];
        const general = statuses.has(status) ? (GENERAL[status] ?? []) : [];
        const others = general.map((code) => ({ code, status }));
        if (declared.length === 0) return [status, shared(status)];
        const name = `problem${status}${declared.map(({ code }) => pascal(code)).join("")}`;
        return [status, nameResponse(name, problemOf([...declared, ...others]), components)];
      }),
    ),
  };
}

/** Returns the reference to a response. The same code may have other data in another contract; then its name gets a number. */
function nameResponse(name: string, response: Json, components: Map<string, Json>): Json {
  const wanted = JSON.stringify(response);
  for (let number = 1; ; number += 1) {
    const free = number === 1 ? name : `${name}${number}`;
    const known = components.get(free);
    if (known === undefined) components.set(free, response);
    else if (JSON.stringify(known) !== wanted) continue;
    return { $ref: `#/components/responses/${free}` };
  }
}

/** `unknown_run` gives `UnknownRun`. */
function pascal(code: string): string {
  return code
    .toLowerCase()
    .split("_")
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join("");
}

interface KnownProblem {
  readonly code: string;
  readonly status: number;
  /** The code of the contract, where the route has another one. */
  readonly inner?: string;
  readonly data?: z.ZodType;
}

function declaredProblems({ contract, path, codes = {} }: Route): KnownProblem[] {
  const { unknown_server } = getServer.errors;
  const more = isAboutServer({ path }) ? { unknown_server } : {};
  const declared: [string, z.ZodType?][] =
    contract.kind === "rpc"
      ? Object.entries({ ...more, ...contract.errors }).map(([code, { data }]) => [code, data])
      : COMMAND_CODES.map((code) => [code]);
  return declared.map(([inner, data]) => {
    const [status = statusOf(inner), code = inner] = codes[inner] ?? [];
    return data === undefined ? { status, code, inner } : { status, code, inner, data };
  });
}

function shared(status: number): Json {
  return { $ref: `#/components/responses/problem${status}` };
}

/** Returns the response for problems of one status, with an example of each. */
function problemOf(problems: readonly KnownProblem[]): Json {
  const byCode = new Map(problems.map((problem) => [problem.code, problem]));
  const known = [...byCode.values()];
  return {
    description: known
      .map(({ code, inner = code }) => `\`${code}\`: ${errorTexts[inner]}`)
      .join(" "),
    content: {
      "application/problem+json": {
        schema: { $ref: "#/components/schemas/Problem" },
        examples: Object.fromEntries(
          known.map((problem) => [problem.code, { value: exampleProblem(problem) }]),
        ),
      },
    },
  };
}

function exampleProblem({ code, status, inner = code, data }: KnownProblem): unknown {
  const facts =
    data === undefined ? null : exampleOf(explainedSchema(data, { io: "output", place: inner }));
  const problem = new Problem({ status, code, detail: errorTexts[inner] ?? code, data: facts });
  return JSON.parse(problemBody(problem, "3f2504e0-4f89-41d3-9a0c-0305e82c3301"));
}
