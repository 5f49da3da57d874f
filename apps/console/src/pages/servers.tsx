import type { ServerInfo } from "@switchyard/client/operations";
import { useState } from "preact/hooks";
import { count } from "../core/format.ts";
import { textsOf } from "../core/form.ts";
import { act, useResource } from "../core/resource.ts";
import { client, may } from "../core/session.ts";
import { toast } from "../core/toasts.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Page } from "../ui/page.tsx";
import { ResourceView } from "../ui/resource-view.tsx";
import { Status } from "../ui/status.tsx";
import { said } from "../ui/statuses.ts";
import { Tabs } from "../ui/tabs.tsx";
import { ServerSecrets } from "./server-secrets.tsx";
import {
  literalFields,
  withReferences,
  type Extracted,
  type LiteralSecret,
} from "./literal-secrets.ts";
import { declarationsOf, pairsOf, type Declaration } from "./server-declarations.ts";

export function Servers() {
  const servers = useResource("GET /mcp/servers", {}, ["server"]);
  const [isAdding, setAdding] = useState(false);
  return (
    <Page
      title="MCP servers"
      about="Where tools come from. Each server is a process here or an address."
      cli="yard mcp list"
      nats="nats sub 'yard.evt.mcp.>'"
      actions={
        may("POST /mcp/servers") && (
          <button
            type="button"
            class="button primary"
            data-testid="add-server"
            onClick={() => setAdding(true)}
          >
            Add server
          </button>
        )
      }
    >
      <ResourceView
        of={servers}
        empty={(data) =>
          data.servers.length > 0 ? null : (
            <>
              <p>There is no MCP server, so agents have built-in tools alone.</p>
              <button type="button" class="button primary" onClick={() => setAdding(true)}>
                Add the first server
              </button>
            </>
          )
        }
      >
        {(data) => (
          <ul class="cards plain-list" data-testid="servers">
            {data.servers.map((server) => (
              <ServerCard key={server.id} server={server} onChange={servers.reload} />
            ))}
          </ul>
        )}
      </ResourceView>
      {may("GET /mcp/secrets") && <ServerSecrets />}
      {isAdding && (
        <AddServer
          onClose={() => {
            setAdding(false);
            servers.reload();
          }}
        />
      )}
    </Page>
  );
}

function ServerCard({ server, onChange }: { server: ServerInfo; onChange: () => void }) {
  const { id, name, status, transport, toolCount, lastError, serverVersion } = server;
  return (
    <li class="card" data-testid={`server-${id}`} data-status={said("server", status)}>
      <div class="card-head">
        <h2>
          <a href={`/servers/${encodeURIComponent(id)}`}>{name}</a>
        </h2>
        <Status is={status} />
      </div>
      <p class="quiet">
        {transport} · {count(toolCount, "tool")}
        {serverVersion !== null && ` · ${serverVersion}`}
      </p>
      {lastError !== null && status !== "connected" && <p class="text error-text">{lastError}</p>}
      <ConnectToggle server={server} onChange={onChange} />
    </li>
  );
}

/** Connects, or disconnects until a person connects it again. */
export function ConnectToggle({ server, onChange }: { server: ServerInfo; onChange: () => void }) {
  const { id, name, status } = server;
  const [isBusy, setBusy] = useState(false);
  const isOn = status === "connected" || status === "connecting";
  if (!may("POST /mcp/servers/{id}/connect")) return null;
  const toggle = async (): Promise<void> => {
    setBusy(true);
    const path = { id };
    await act(isOn ? `${name} is disconnected` : `${name} is connected`, () => {
      if (isOn) return client.request("POST /mcp/servers/{id}/disconnect", { path });
      if (status === "disabled")
        return client.request("POST /mcp/servers/{id}/enable", { path, body: { enabled: true } });
      return client.request("POST /mcp/servers/{id}/connect", { path });
    });
    setBusy(false);
    onChange();
  };
  return (
    <div class="actions">
      <button
        type="button"
        role="switch"
        class="button small"
        aria-checked={isOn}
        aria-label={`Connection of ${name}`}
        disabled={isBusy}
        onClick={() => void toggle()}
      >
        {isBusy ? "…" : isOn ? "Disconnect" : status === "disabled" ? "Enable" : "Connect"}
      </button>
    </div>
  );
}

const EXAMPLE = `{
  "mcpServers": {
    "files": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/path"]
    }
  }
}`;

function AddServer({ onClose }: { onClose: () => void }) {
  const [view, setView] = useState("json");
  const [literal, setLiteral] = useState<Literal | null>(null);
  const add = async (declarations: readonly Declaration[]): Promise<void> => {
    setLiteral(null);
    for (const [at, body] of declarations.entries()) {
      const added = await addOne(body);
      if (added === "failed") return;
      if (added !== "added") return setLiteral({ ...added, rest: declarations.slice(at + 1) });
    }
    onClose();
  };
  const store = async ({ body, values, rest }: Literal): Promise<void> => {
    for (const { name, value } of values) {
      const stored = { path: { name }, body: { value } };
      if (!(await act("", () => client.request("PUT /mcp/secrets/{name}", stored)))) return;
    }
    await add([body, ...rest]);
  };
  return (
    <Dialog title="Add server" onClose={onClose} testId="add-server-dialog">
      <Tabs
        label="How it is given"
        tabs={[
          { id: "json", title: "Paste a client’s JSON" },
          { id: "form", title: "Form" },
        ]}
        chosen={view}
        onChoose={setView}
      />
      {view === "json" ? (
        <FromJson onAdd={add} onClose={onClose} />
      ) : (
        <FromForm onAdd={add} onClose={onClose} />
      )}
      {literal !== null && (
        <div class="note wait" role="alert" data-testid="literal-secret">
          <span>
            <strong>{literal.body.id}</strong> has a credential in{" "}
            {literal.fields.map(({ field }) => field).join(", ")}. Nothing was added. It can be
            stored encrypted, with a reference in its place.
          </span>
          <button
            type="button"
            class="button small primary"
            data-testid="store-and-add"
            onClick={() => void store(literal)}
          >
            Store and add
          </button>
        </div>
      )}
    </Dialog>
  );
}

/** A server that was not added because of its credentials, as it can be added when these are stored. */
interface Literal extends Extracted {
  readonly fields: readonly LiteralSecret[];
  /** The servers that are added after it. */
  readonly rest: readonly Declaration[];
}

/** Adds a server, or returns how it can be added without the credentials that are written out in it. */
async function addOne(body: Declaration): Promise<"added" | "failed" | Omit<Literal, "rest">> {
  let found: Omit<Literal, "rest"> | undefined;
  const isDone = await act("", async () => {
    try {
      await client.request("POST /mcp/servers", { body });
      toast({ text: `${body.id} is added and connects`, tone: "good" });
    } catch (error) {
      const fields = literalFields(error);
      const extracted = fields === null ? null : withReferences(body, fields);
      if (fields === null || extracted === null) throw error;
      found = { ...extracted, fields };
    }
  });
  if (found !== undefined) return found;
  return isDone ? "added" : "failed";
}

interface AddProps {
  readonly onAdd: (declarations: readonly Declaration[]) => Promise<void>;
  readonly onClose: () => void;
}

function FromJson({ onAdd, onClose }: AddProps) {
  const [text, setText] = useState("");
  const read = declarationsOf(text);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if ("servers" in read) void onAdd(read.servers);
  };
  return (
    <form onSubmit={submit}>
      <label class="field">
        <span>JSON of Claude, Cursor, VS Code, opencode or any other client</span>
        <textarea
          class="code"
          rows={10}
          value={text}
          placeholder={EXAMPLE}
          data-testid="server-json"
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      {text.trim() !== "" &&
        ("problem" in read ? (
          <p class="note wait" role="alert">
            {read.problem}
          </p>
        ) : (
          <p class="note good">
            <span>
              Adds <strong>{read.servers.map(({ id }) => id).join(", ")}</strong>
            </span>
          </p>
        ))}
      <SecretsHint />
      <Buttons onClose={onClose} isReady={"servers" in read} />
    </form>
  );
}

function SecretsHint() {
  return (
    <p class="quiet">
      A secret is stored encrypted and written as <code>${"{secret:NAME}"}</code>;{" "}
      <code>${"{NAME}"}</code> comes from the broker’s environment.
    </p>
  );
}

function FromForm({ onAdd, onClose }: AddProps) {
  const [transport, setTransport] = useState("stdio");
  const [extra, setExtra] = useState("");
  const isProcess = transport === "stdio";
  const read = pairsOf(extra, isProcess ? "=" : ":");
  const submit = (event: SubmitEvent): void => {
    const text = textsOf(event);
    if ("problem" in read) return;
    const words = text("args").split("\n").filter(Boolean);
    const isThere = Object.keys(read.pairs).length > 0;
    const how = isProcess
      ? { transport, command: text("command"), args: words, ...(isThere && { env: read.pairs }) }
      : { transport, url: text("url"), ...(isThere && { headers: read.pairs }) };
    const name = text("name");
    void onAdd([{ id: text("id"), ...(name !== "" && { name }), ...how }]);
  };
  return (
    <form onSubmit={submit}>
      <label class="field">
        <span>Id: a-z 0-9 -</span>
        <input name="id" required pattern="[a-z0-9][a-z0-9\-]*" maxLength={24} />
      </label>
      <label class="field">
        <span>Name (optional)</span>
        <input name="name" maxLength={100} />
      </label>
      <label class="field">
        <span>Transport</span>
        <select value={transport} onChange={(event) => setTransport(event.currentTarget.value)}>
          <option value="stdio">a process (stdio)</option>
          <option value="http">an address (Streamable HTTP)</option>
          <option value="sse">an address (SSE, old)</option>
        </select>
      </label>
      {isProcess ? (
        <>
          <label class="field">
            <span>Command</span>
            <input name="command" required />
          </label>
          <label class="field">
            <span>Arguments, one a line</span>
            <textarea name="args" class="code" rows={4} />
          </label>
        </>
      ) : (
        <label class="field">
          <span>URL</span>
          <input name="url" type="url" required />
        </label>
      )}
      <label class="field">
        <span>
          {isProcess
            ? "Environment (optional), NAME=value, one a line"
            : "Headers (optional), Name: value, one a line"}
        </span>
        <textarea
          class="code"
          rows={3}
          value={extra}
          data-testid="server-extra"
          onInput={(event) => setExtra(event.currentTarget.value)}
        />
      </label>
      {"problem" in read && (
        <p class="note wait" role="alert">
          {read.problem}
        </p>
      )}
      <SecretsHint />
      <Buttons onClose={onClose} isReady={!("problem" in read)} />
    </form>
  );
}

function Buttons({ onClose, isReady }: { onClose: () => void; isReady: boolean }) {
  return (
    <div class="actions end">
      <button type="button" class="button" onClick={onClose}>
        Close
      </button>
      <button class="button primary" disabled={!isReady} data-testid="add">
        Add
      </button>
    </div>
  );
}
