import type { ContentBlock, Decision } from "@switchyard/client/operations";
import { useEffect, useMemo, useState } from "preact/hooks";
import { durationText, prettyJson, shellWord } from "../core/format.ts";
import { useResource } from "../core/resource.ts";
import { callerName, client, may, problemOf } from "../core/session.ts";
import { Snippet } from "../ui/copy.tsx";
import { ProblemNote } from "../ui/resource-view.tsx";
import { initialOf, type FormSchema } from "../ui/form-schema.ts";
import { SchemaForm } from "../ui/schema-form.tsx";
import { Status } from "../ui/status.tsx";
import { said, saidCode, toneOf } from "../ui/statuses.ts";
import { Tabs } from "../ui/tabs.tsx";

/** A tool of an MCP server, or a built-in one (`server` null). */
export interface Tool {
  readonly name: string;
  readonly server: string | null;
  readonly tool: string;
  readonly description: string;
  readonly schema: FormSchema;
}

interface Answer {
  readonly content: readonly ContentBlock[];
  readonly structuredContent?: unknown;
  readonly isError: boolean;
  readonly text: string;
  readonly durationMs: number;
  readonly decision: Decision;
}

/** Arguments, the policy's decision about them, and the result of the call. */
export function TryTool({ tool }: { tool: Tool }) {
  const [args, setArgs] = useState<Record<string, unknown>>(
    () => (initialOf(tool.schema, tool.schema) as Record<string, unknown> | undefined) ?? {},
  );
  const [view, setView] = useState("form");
  const [answer, setAnswer] = useState<Answer | null>(null);
  const [failure, setFailure] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const canCall = may(
    tool.server === null
      ? "POST /tools/builtin/{tool}/call"
      : "POST /tools/mcp/{server}/{tool}/call",
  );
  const run = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setFailure(null);
    try {
      setAnswer(await callTool(tool, args));
    } catch (error) {
      setAnswer(null);
      setFailure(error);
    }
    setBusy(false);
  };
  return (
    <section class="card" aria-label={tool.name} data-testid="tool">
      <h2>{tool.name}</h2>
      <p class="text quiet">{tool.description}</p>
      <Tabs
        label="How the arguments are written"
        tabs={[
          { id: "form", title: "Form" },
          { id: "json", title: "JSON" },
          { id: "schema", title: "Schema" },
          { id: "copy", title: "Copy as…" },
        ]}
        chosen={view}
        onChoose={setView}
      />
      <form onSubmit={(event) => void run(event)}>
        {view === "form" && <SchemaForm schema={tool.schema} value={args} onChange={setArgs} />}
        {view === "form" && Object.keys(tool.schema.properties ?? {}).length === 0 && (
          <p class="quiet">It takes no arguments.</p>
        )}
        {view === "json" && <RawArguments args={args} onChange={setArgs} />}
        {view === "schema" && <Snippet label="Schema" text={prettyJson(tool.schema)} />}
        {view === "copy" && <CopyAs tool={tool} args={args} />}
        <PolicyWould tool={tool} args={args} />
        {canCall ? (
          <div class="actions">
            <button class="button primary" disabled={isBusy} data-testid="call-tool">
              {isBusy ? "Running…" : "Run it"}
            </button>
          </div>
        ) : (
          <p class="quiet">Your credential may look at tools, not call them.</p>
        )}
      </form>
      {failure !== null && <ToolFailure failure={failure} />}
      {answer !== null && <ToolAnswer answer={answer} />}
    </section>
  );
}

function callTool(tool: Tool, args: Record<string, unknown>): Promise<Answer> {
  const request = { body: { args }, idempotencyKey: crypto.randomUUID() };
  return tool.server === null
    ? client.request("POST /tools/builtin/{tool}/call", { ...request, path: { tool: tool.tool } })
    : client.request("POST /tools/mcp/{server}/{tool}/call", {
        ...request,
        path: { server: tool.server, tool: tool.tool },
      });
}

function RawArguments(props: {
  args: Record<string, unknown>;
  onChange: (args: Record<string, unknown>) => void;
}) {
  const [text, setText] = useState(() => prettyJson(props.args));
  const [isBad, setBad] = useState(false);
  const change = (given: string): void => {
    setText(given);
    try {
      const parsed: unknown = JSON.parse(given);
      const isObject = typeof parsed === "object" && parsed !== null && !Array.isArray(parsed);
      setBad(!isObject);
      if (isObject) props.onChange({ ...parsed });
    } catch {
      setBad(true);
    }
  };
  return (
    <label class="field">
      <span>Arguments as JSON</span>
      <textarea
        class="code"
        rows={8}
        value={text}
        aria-invalid={isBad}
        onInput={(event) => change(event.currentTarget.value)}
      />
      {isBad && <small role="alert">This is not a JSON object yet; the last one counts.</small>}
    </label>
  );
}

const ASK_AFTER_MS = 350;

/** The policy's decision about exactly this call, before it is made. */
function PolicyWould({ tool, args }: { tool: Tool; args: Record<string, unknown> }) {
  const [asked, setAsked] = useState(args);
  useEffect(() => {
    const timer = setTimeout(() => setAsked(args), ASK_AFTER_MS);
    return () => clearTimeout(timer);
  }, [args]);
  const ref = { name: tool.name, server: tool.server, tool: tool.tool };
  const explained = useResource(
    "POST /policy/explain",
    may("POST /policy/explain") ? { body: { user: callerName(), tool: ref, args: asked } } : null,
  );
  if (explained.data === null) return null;
  const { decision, nearest } = explained.data;
  return (
    <div
      class={`note ${toneOf(decision.effect)}`}
      data-testid="policy-would"
      data-status={said("policy-would", decision.effect)}
    >
      <strong>The policy would {WOULD[decision.effect]} this call</strong>
      <p>{decision.reason}</p>
      {nearest !== null && (
        <p>
          Rule <code>{nearest.rule}</code> would allow it but for{" "}
          {nearest.failed.map(({ part, expected, got }) => (
            <span key={part}>
              <code>{part}</code>: it wants {expected}, this has {got}.{" "}
            </span>
          ))}
        </p>
      )}
    </div>
  );
}

const WOULD = { allow: "allow", deny: "deny", ask: "ask a person about" } as const;

function ToolFailure({ failure }: { failure: unknown }) {
  const problem = problemOf(failure);
  const data = problem.data as { approvalId?: string } | null | undefined;
  if (problem.code === "approval_required" && typeof data?.approvalId === "string")
    return (
      <div
        class="note wait"
        data-testid="problem"
        data-status={saidCode("problem", "approval_required")}
      >
        <strong>A person has to approve this call</strong>
        <p>Nothing was sent. Once it is approved, run it again.</p>
        <a class="button" href={`/approvals?id=${data.approvalId}`}>
          To the approval
        </a>
      </div>
    );
  return <ProblemNote problem={problem} />;
}

function ToolAnswer({ answer }: { answer: Answer }) {
  const { content, structuredContent, isError, text, durationMs } = answer;
  const images = content.flatMap((block) => imageOf(block) ?? []);
  return (
    <section
      data-testid="tool-result"
      data-status={said("tool-result", isError ? "error" : "done")}
    >
      <h3>
        <Status is={isError ? "error" : "done"} /> in {durationText(durationMs)}
      </h3>
      <Snippet label="Result as text" text={text} />
      {images.map((source, index) => (
        <img key={String(index)} class="result-image" src={source} alt={`Image ${index + 1}`} />
      ))}
      {structuredContent !== undefined && (
        <details>
          <summary>Structured result</summary>
          <Snippet label="Structured result" text={prettyJson(structuredContent)} />
        </details>
      )}
      <details>
        <summary>Content blocks as JSON</summary>
        <Snippet label="Content blocks" text={prettyJson(content)} />
      </details>
    </section>
  );
}

/** As data: nothing is fetched from elsewhere. SVG is left out, since it is a document. */
function imageOf({ type, ...block }: ContentBlock): string | null {
  const { data, mimeType } = block;
  const isImage = type === "image" && typeof data === "string" && typeof mimeType === "string";
  if (!isImage || !/^image\/(png|jpeg|gif|webp)$/.test(mimeType)) return null;
  return /^[A-Za-z0-9+/=\s]+$/.test(data) ? `data:${mimeType};base64,${data}` : null;
}

function CopyAs({ tool, args }: { tool: Tool; args: Record<string, unknown> }) {
  const texts = useMemo(() => copies(tool, args), [tool, args]);
  return (
    <>
      {texts.map(({ title, text }) => (
        <section key={title}>
          <h3>{title}</h3>
          <Snippet label={title} text={text} />
        </section>
      ))}
    </>
  );
}

function copies({ server, tool }: Tool, args: Record<string, unknown>) {
  const json = JSON.stringify(args);
  const path = server === null ? `builtin/${tool}` : `mcp/${server}/${encodeURIComponent(tool)}`;
  const body = shellWord(JSON.stringify({ args }));
  const caller = callerName();
  const subject =
    server === null ? `yard.rpc.${caller}.toolbox.call` : `yard.rpc.${caller}.mcp.call.${server}`;
  return [
    ...(server === null
      ? []
      : [
          {
            title: "Terminal",
            text: `yard mcp call ${server} ${shellWord(tool)} ${shellWord(json)}`,
          },
        ]),
    {
      title: "curl",
      text: `curl -fsS ${location.origin}/api/v1/tools/${path}/call \\\n  -H "Authorization: Bearer $YARD_HTTP_TOKEN" -H "Content-Type: application/json" \\\n  -d ${body}`,
    },
    {
      title: "NATS",
      text: `nats req ${subject} ${shellWord(JSON.stringify({ tool, args }))}`,
    },
  ];
}
