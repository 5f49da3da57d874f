import type { Reply } from "@switchyard/client/client";
import { useEffect, useState } from "preact/hooks";
import { filesDiff } from "../core/files-diff.ts";
import { count } from "../core/format.ts";
import {
  isTouched,
  storeDraft,
  storedDraft,
  type PolicyDraft as Draft,
} from "../core/stored-draft.ts";
import { act, useResource } from "../core/resource.ts";
import { filterOf, setFilter } from "../core/router.ts";
import { client, may } from "../core/session.ts";
import { Snippet } from "../ui/copy.tsx";
import { ask } from "../ui/dialog.tsx";
import { Loading, ProblemNote, ResourceView } from "../ui/resource-view.tsx";
import { Status } from "../ui/status.tsx";
import { Tabs } from "../ui/tabs.tsx";
import { withRule } from "./call-sentence.ts";
import { DraftComparison } from "./draft-comparison.tsx";

const ASK_AFTER_MS = 500;
/** The first text of a draft for a person who may not read the rules in force. */
const STUB = {
  name: "console.yaml",
  text: `# What no rule allows is denied, and a deny always wins.
version: 1
rules:
  - id: read-the-docs
    effect: allow
    approval: auto
    who: { agents: [demo] }
    what: { tools: ["files.read_*"] }
`,
};

/** Rules that are checked as they are edited, with their own tests; they take effect only when they are activated. */
export function PolicyDraft() {
  const mayRead = may("GET /policy/texts");
  const texts = useResource("GET /policy/texts", mayRead ? {} : null, ["other"]);
  const [draft, setDraft] = useState<Draft | null>(storedDraft);
  const inForce = texts.data;
  useEffect(() => {
    if (!mayRead) setDraft((old) => old ?? { base: null, files: [STUB] });
    else if (inForce !== null)
      setDraft((old) =>
        old?.base && isTouched(old) ? old : { base: inForce, files: inForce.files },
      );
  }, [mayRead, inForce]);
  const change = (next: Draft): void => {
    setDraft(next);
    storeDraft(isTouched(next) ? next : null);
  };
  if (draft === null)
    return texts.problem === null ? (
      <Loading />
    ) : (
      <ProblemNote problem={texts.problem} onRetry={texts.reload} />
    );
  const begin = (files: Draft["files"]): void => {
    if (inForce !== null) change({ base: inForce, files });
  };
  const isOutdated =
    draft.base !== null && inForce !== null && inForce.version !== draft.base.version;
  return (
    <>
      {draft.base === null && (
        <p class="note wait">
          A person with the role admin begins with the rules in force, and can activate a draft.
        </p>
      )}
      {isOutdated && (
        <section class="note bad" data-testid="draft-outdated">
          <strong>
            The rules have changed: version {inForce.version} is in force, and this draft was begun
            from version {draft.base?.version}
          </strong>
          <p>It cannot be activated before it is compared with them.</p>
          <div class="actions">
            <button type="button" class="button" onClick={() => begin(draft.files)}>
              Compare it with version {inForce.version}
            </button>
            <button type="button" class="button danger" onClick={() => begin(inForce.files)}>
              Throw the draft away
            </button>
          </div>
        </section>
      )}
      <ProposedRule draft={draft} onChange={change} />
      <Editor draft={draft} onChange={change} isOutdated={isOutdated} onActivated={texts.reload} />
    </>
  );
}

/** A rule that a link proposes, such as one made from a call that waits; it becomes part of the draft with a click. */
function ProposedRule({ draft, onChange }: Pick<EditorProps, "draft" | "onChange">) {
  const rule = filterOf("rule");
  const file = draft.files.find(({ text }) => withRule(text, rule) !== null);
  if (rule === "") return null;
  const add = (): void => {
    if (file === undefined) return;
    const text = withRule(file.text, rule) ?? file.text;
    const files = draft.files.map((one) => (one === file ? { name: file.name, text } : one));
    onChange({ base: draft.base, files });
    setFilter("rule", "");
  };
  return (
    <section class="note wait" data-testid="proposed-rule">
      <strong>A rule for calls like this one</strong>
      <Snippet text={rule} label="Rule" />
      <div class="actions">
        <button type="button" class="button primary" disabled={file === undefined} onClick={add}>
          Add it to the draft
        </button>
        <button type="button" class="button" onClick={() => setFilter("rule", "")}>
          Leave it out
        </button>
      </div>
    </section>
  );
}

interface EditorProps {
  readonly draft: Draft;
  readonly onChange: (draft: Draft) => void;
  readonly isOutdated: boolean;
  readonly onActivated: () => void;
}

function Editor({ draft, onChange, isOutdated, onActivated }: EditorProps) {
  const { base, files } = draft;
  const [chosen, setChosen] = useState("");
  const [asked, setAsked] = useState(files);
  useEffect(() => {
    const timer = setTimeout(() => setAsked(files), ASK_AFTER_MS);
    return () => clearTimeout(timer);
  }, [files]);
  const checked = useResource("POST /policy/validate", { body: { files: [...asked] } });
  const isGood = checked.data?.valid === true && asked === files && !checked.isLoading;
  const isChanged = isTouched(draft);
  const file = files.find(({ name }) => name === chosen) ?? files[0] ?? STUB;
  const write = (text: string): void => {
    const { name } = file;
    onChange({ base, files: files.map((one) => (one.name === name ? { name, text } : one)) });
  };
  const addFile = async (): Promise<void> => {
    const name = await ask({
      title: "Add a file",
      text: "A file whose name ends in .test.yaml has tests of the rules.",
      action: "Add the file",
      input: { label: "Name", value: "more.test.yaml" },
    });
    if (name === null || name.trim() === "" || files.some((one) => one.name === name.trim()))
      return;
    onChange({ base, files: [...files, { name: name.trim(), text: "" }] });
    setChosen(name.trim());
  };
  const activate = async (): Promise<void> => {
    if (base === null) return;
    const note = await ask({
      title: `Activate this draft in place of version ${base.version}?`,
      text: "It replaces all rules in force, and the files on disk are not followed any more.",
      details: filesDiff(base.files, files),
      action: "Activate the draft",
      isDangerous: true,
      input: { label: "Why (for the record)" },
    });
    if (note === null) return;
    const body = { files: [...files], ...(note.trim() !== "" && { note: note.trim() }) };
    const isDone = await act("The draft is active", () =>
      client.request("POST /policy/activate", { body, ifMatch: String(base.version) }),
    );
    // The activated files are the base of the next draft.
    if (isDone) onChange({ base: { ...base, files }, files });
    onActivated();
  };
  return (
    <div class="columns">
      <section class="card">
        <Tabs
          label="Files of the rules"
          tabs={files.map(({ name }) => ({ id: name, title: name }))}
          chosen={file.name}
          onChoose={setChosen}
        />
        <label class="field">
          <span>{file.name}, as YAML</span>
          <textarea
            class="code"
            rows={20}
            spellcheck={false}
            value={file.text}
            data-testid="draft"
            onInput={(event) => write(event.currentTarget.value)}
          />
        </label>
        <div class="actions">
          <button type="button" class="button small" onClick={() => void addFile()}>
            Add a file…
          </button>
          {files.length > 1 && (
            <button
              type="button"
              class="button small"
              onClick={() => onChange({ base, files: files.filter((one) => one !== file) })}
            >
              Leave {file.name} out
            </button>
          )}
          {base !== null && isChanged && (
            <button
              type="button"
              class="button small"
              onClick={() => onChange({ base, files: base.files })}
            >
              Back to version {base.version}
            </button>
          )}
        </div>
        {may("POST /policy/activate") && base !== null && (
          <div class="actions">
            <button
              type="button"
              class="button danger"
              disabled={!isGood || !isChanged || isOutdated}
              onClick={() => void activate()}
            >
              Activate…
            </button>
            {!isChanged && (
              <p class="quiet">These are the rules in force, version {base.version}.</p>
            )}
          </div>
        )}
      </section>
      <section class="card" aria-live="polite" data-testid="draft-check">
        <ResourceView of={checked}>{(report) => <Report {...report} />}</ResourceView>
      </section>
      {isGood && isChanged && may("GET /audit") && may("POST /policy/replay") && (
        <DraftComparison files={files} />
      )}
    </div>
  );
}

function Report({ valid, rules, problems, findings, tests }: Reply<"POST /policy/validate">) {
  return (
    <>
      <h2>
        <Status is={valid ? "ready" : "failed"}>
          {valid ? `${count(rules, "rule")}, valid` : "not valid"}
        </Status>
      </h2>
      {problems.map(({ file, line, column, message }) => (
        <p key={`${file ?? ""} ${line}:${column} ${message}`} class="note bad">
          <span>
            {file !== undefined && `${file}: `}Line {line}, column {column}: {message}
          </span>
        </p>
      ))}
      {findings.map(({ kind, rule, message }) => (
        <p key={`${kind} ${rule ?? ""} ${message}`} class="note wait">
          <span>
            <strong>{kind}</strong> {message}
          </span>
        </p>
      ))}
      {tests.map(({ name, file, line, passed, message }) => (
        <p key={`${file ?? ""} ${line} ${name}`}>
          <Status is={passed ? "done" : "failed"} /> {name}
          {message !== null && `: ${message}`}
        </p>
      ))}
      {valid && findings.length === 0 && <p class="quiet">Nothing to remark.</p>}
    </>
  );
}
