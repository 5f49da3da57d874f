import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after } from "node:test";
import { chunksOf } from "../model-protocols.ts";
import type { ScriptedAnswer } from "../scripted-answer.ts";
import { FAMILIES, type FamilyName } from "./families.ts";
import type { Json, Refusal } from "./family.ts";

/** An answer of a script: of the usual kind, a refusal, the raw chunks of a stream, or a body of another type. */
export type RowAnswer =
  | ScriptedAnswer
  | Refusal
  | (() => Refusal)
  | { readonly raw: readonly (Json | string)[] }
  | { readonly contentType: string; readonly page: string };

/** The requests of one row of the conformance table. */
export interface Row {
  readonly answers: RowAnswer[];
  /** The requests that the rules of their family accept. */
  readonly accepted: { readonly family: FamilyName; readonly at: number; readonly body: Json }[];
  /** The refusals of the others. */
  readonly refused: string[];
}

export interface FamilyServer {
  /** The address of a family for one row; rows do not see each other. */
  addressOf(row: number, family: FamilyName): string;
  rowOf(row: number): Row;
}

/** Starts the fakes of all families; closed when the test ends. */
export async function startFamilyServer(): Promise<FamilyServer> {
  const rows = new Map<number, Row>();
  const rowOf = (index: number): Row => {
    const row = rows.get(index) ?? { answers: [], accepted: [], refused: [] };
    rows.set(index, row);
    return row;
  };
  const server = createServer((request, response) => {
    void (async () => {
      const url = new URL(request.url ?? "", "http://localhost");
      const [, index = "", name = ""] = url.pathname.split("/");
      const family = FAMILIES[name as FamilyName]; // the table makes the addresses
      const body = JSON.parse(await bodyOf(request)) as Json;
      const path = url.pathname.slice(`/${index}/${name}`.length);
      const row = rowOf(Number(index));
      const { headers } = request;
      const refusal = family.refusal({ path, query: url.searchParams, headers, body });
      if (refusal !== null) {
        row.refused.push(`${name}: ${JSON.stringify(refusal.body)}`);
        return refuse(response, refusal);
      }
      row.accepted.push({ family: name as FamilyName, at: Date.now(), body });
      const answer = row.answers.shift();
      if (answer === undefined)
        return refuse(response, {
          status: 400,
          body: { error: { message: "no answer is prepared" } },
        });
      respond(response, name as FamilyName, answer);
    })();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  after(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  const { port } = server.address() as AddressInfo; // of TCP
  return { rowOf, addressOf: (row, family) => `http://127.0.0.1:${port}/${row}/${family}` };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = "";
  for await (const part of request) body += String(part);
  return body;
}

function refuse(response: ServerResponse, { status, headers = {}, body }: Refusal): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

function respond(response: ServerResponse, name: FamilyName, answer: RowAnswer): void {
  if (typeof answer === "function") return refuse(response, answer());
  if ("status" in answer) return refuse(response, answer);
  if ("page" in answer) {
    response.writeHead(200, { "content-type": answer.contentType }).end(answer.page);
    return;
  }
  const { protocol, stream } = FAMILIES[name];
  response.writeHead(200, { "content-type": "text/event-stream" });
  const usual = "raw" in answer ? null : chunksOf(protocol, answer);
  const lines =
    "raw" in answer
      ? answer.raw
      : stream === undefined
        ? (usual ?? [])
        : stream(usual ?? [], answer);
  for (const line of lines) {
    if (typeof line === "string") {
      response.write(`${line}\n\n`);
      continue;
    }
    const event = protocol === "messages" ? `event: ${String(line["type"])}\n` : "";
    response.write(`${event}data: ${JSON.stringify(line)}\n\n`);
  }
  response.end(protocol === "chat" ? "data: [DONE]\n\n" : "");
}
