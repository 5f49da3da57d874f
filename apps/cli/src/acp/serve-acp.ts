import { randomBytes } from "node:crypto";
import { Readable, Writable } from "node:stream";
import {
  agent as acpAgent,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  RequestError,
  type AgentConnection,
  type AgentContext,
  type ContentBlock,
  type SessionModeState,
} from "@agentclientprotocol/sdk";
import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { listAgents, type AgentSummary } from "@switchyard/contracts/skill-importer/agents";
import { cutText } from "@switchyard/contracts/cut-text";
import { patchSession, sessionHistory } from "@switchyard/contracts/agent-runner/sessions";
import { sessionOf } from "../chat/conversation.ts";
import type { ReadFile } from "../sent-files.ts";
import { VERSION } from "../version.ts";
import { runTurn } from "./run-turn.ts";

export interface AcpOptions {
  readonly bus: Bus;
  /** The agent that answers in new sessions. */
  readonly agent: string;
  /** Overrides the agents' own models. */
  readonly model: string | null;
  readonly input: Readable;
  readonly output: Writable;
  readonly onFault: (error: unknown) => void;
}

interface OpenSession {
  agent: string;
  /** The prompt in progress. */
  turn: AbortController | null;
  hasBegun: boolean;
}

const KEY = /^acp-[a-z0-9-]{1,64}$/;
const SHOWN_MESSAGES = 200;

/** Speaks the Agent Client Protocol with an editor: its sessions are sessions, its prompts runs, its modes the agents. */
export function serveAcp(options: AcpOptions): AgentConnection {
  const { bus, input, output, onFault } = options;
  const sessions = new Map<string, OpenSession>();
  const { promise: connected, resolve: setConnection } = Promise.withResolvers<AgentConnection>();
  const sessionNamed = (id: string): OpenSession => {
    const found = sessions.get(id);
    if (found !== undefined) return found;
    throw RequestError.resourceNotFound(`session ${id}, which is not open here`);
  };
  const app = acpAgent({ name: "switchyard" })
    .onRequest(methods.agent.initialize, () => ({
      protocolVersion: PROTOCOL_VERSION,
      agentInfo: { name: "switchyard", title: "Switchyard", version: VERSION },
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { embeddedContext: true, image: true, audio: true },
      },
      authMethods: [],
    }))
    .onRequest(methods.agent.session.new, async () => {
      const sessionId = `acp-${randomBytes(10).toString("hex")}`;
      const modes = await modesOf(bus, options.agent);
      sessions.set(sessionId, { agent: options.agent, turn: null, hasBegun: false });
      return { sessionId, modes };
    })
    .onRequest(methods.agent.session.load, async ({ params: { sessionId }, client: editor }) => {
      const session = KEY.test(sessionId) ? await sessionOf(bus, sessionId) : null;
      if (session === null)
        throw RequestError.resourceNotFound(`session ${sessionId}: nothing was said in it here`);
      const { agent } = session;
      sessions.set(sessionId, { agent, turn: null, hasBegun: true });
      await sayHistory(bus, editor, sessionId);
      return { modes: await modesOf(bus, agent) };
    })
    .onRequest(methods.agent.session.setMode, async ({ params: { sessionId, modeId } }) => {
      const session = sessionNamed(sessionId);
      if (!(await agentsOf(bus)).some(({ name }) => name === modeId))
        throw RequestError.invalidParams({ modeId }, `there is no agent ${modeId}`);
      if (session.hasBegun)
        await client(bus, { patchSession }).patchSession({ session: sessionId, agent: modeId });
      session.agent = modeId;
      return {};
    })
    .onNotification(methods.agent.session.cancel, ({ params: { sessionId } }) =>
      sessions.get(sessionId)?.turn?.abort(),
    )
    .onRequest(methods.agent.session.prompt, async ({ params, client: editor }) => {
      const { sessionId, prompt } = params;
      const session = sessionNamed(sessionId);
      if (session.turn !== null)
        throw RequestError.invalidRequest({ sessionId }, "the session is still at its last prompt");
      const message = textOf(prompt);
      const files = filesIn(prompt);
      if (message.trim() === "" && files.length === 0)
        throw RequestError.invalidParams({}, "the prompt has no text and no file");
      const turn = new AbortController();
      session.turn = turn;
      session.hasBegun = true;
      const { signal: left } = await connected;
      const { model } = options;
      const { agent } = session;
      try {
        const about = { bus, editor, sessionId, agent, model, message, files, onFault };
        return { stopReason: await runTurn({ ...about, cancelled: turn.signal, left }) };
      } finally {
        session.turn = null;
      }
    });
  const connection = app.connect(
    ndJsonStream(
      Writable.toWeb(output),
      // Node's own type of the same stream.
      Readable.toWeb(input) as ReadableStream<Uint8Array>,
    ),
  );
  setConnection(connection);
  return connection;
}

async function agentsOf(bus: Bus): Promise<readonly AgentSummary[]> {
  return (await client(bus, { listAgents }).listAgents({})).agents;
}

async function modesOf(bus: Bus, currentModeId: string): Promise<SessionModeState> {
  const agents = await agentsOf(bus);
  return {
    currentModeId,
    availableModes: agents.map(({ name, description }) => ({ id: name, name, description })),
  };
}

/** Replays the session's messages as they were shown; tool calls are left out. */
async function sayHistory(bus: Bus, editor: AgentContext, sessionId: string): Promise<void> {
  const { messages } = await client(bus, { sessionHistory }).sessionHistory({
    session: sessionId,
    limit: SHOWN_MESSAGES,
  });
  for (const { role, text } of messages) {
    const sessionUpdate = role === "user" ? "user_message_chunk" : "agent_message_chunk";
    const update = { sessionUpdate, content: { type: "text", text } } as const;
    // Sent sequentially: the editor shows messages in the order of arrival.
    await editor.notify(methods.client.session.update, { sessionId, update });
  }
}

/** Images, sounds and other files of a prompt that are no text. */
function filesIn(prompt: readonly ContentBlock[]): ReadFile[] {
  return prompt.flatMap((block) => {
    switch (block.type) {
      case "image":
        return fileOf(block.data, { uri: block.uri ?? block.type, mimeType: block.mimeType });
      case "audio":
        return fileOf(block.data, { uri: block.type, mimeType: block.mimeType });
      case "resource":
        return "blob" in block.resource ? fileOf(block.resource.blob, block.resource) : [];
      default:
        return [];
    }
  });
}

function fileOf(
  base64: string,
  { uri, mimeType }: { readonly uri: string; readonly mimeType?: string | null },
): ReadFile[] {
  const name = cutText(uri.split(/[/\\]/).at(-1) ?? "", 100) || "file";
  const mediaType = mimeType ?? undefined;
  return [{ name, mediaType, bytes: Buffer.from(base64, "base64") }];
}

/** Text files that an editor sends are text of the prompt; links stay links, because agents have a workspace of their own. */
function textOf(prompt: readonly ContentBlock[]): string {
  return prompt
    .map((block) => {
      switch (block.type) {
        case "text":
          return block.text;
        case "resource_link":
          return `[${block.name}](${block.uri})`;
        case "resource":
          return "text" in block.resource
            ? `<file uri=${JSON.stringify(block.resource.uri)}>\n${block.resource.text}\n</file>`
            : "";
        default:
          return "";
      }
    })
    .filter((text) => text !== "")
    .join("\n\n");
}
