import type { Reply } from "@switchyard/client/client";
import { useEffect, useRef, useState } from "preact/hooks";
import { filesDiff } from "../core/files-diff.ts";
import { count } from "../core/format.ts";
import { act, useResource } from "../core/resource.ts";
import { filterOf } from "../core/router.ts";
import { client, may } from "../core/session.ts";
import { isTouched, type PolicyDraft as Draft } from "../core/stored-draft.ts";
import { ask } from "../ui/dialog.tsx";
import { Patch } from "../ui/patch.tsx";
import { ResourceView } from "../ui/resource-view.tsx";
import { Status } from "../ui/status.tsx";
import { Tabs } from "../ui/tabs.tsx";
import { DraftComparison } from "./draft-comparison.tsx";
import { linesOfRule } from "./rule-text.ts";

const ASK_AFTER_MS = 500;
const NO_FILE = { name: "rules.yaml", text: "" };

interface EditorProps {
  readonly draft: Draft;
  readonly onChange: (draft: Draft) => void;
  readonly isOutdated: boolean;
  readonly onActivated: () => void;
}

/** The files of a draft with their checks beside them. */
export function Editor({ draft, onChange, isOutdated, onActivated }: EditorProps) {
  const { base, files } = draft;
  const [chosen, setChosen] = useState("");
  const [asked, setAsked] = useState(files);
  useEffect(() => {
    const timer = setTimeout(() => setAsked(files), ASK_AFTER_MS);
    return () => clearTimeout(timer);
  }, [files]);
  const checked = useResource("POST /policy/validate", { body: { files: [...asked] } });
  const field = useRef<HTMLTextAreaElement>(null);
  const edited = filterOf("edit");
  useEffect(() => {
    if (edited !== "") setChosen(files.find(({ text }) => linesOfRule(text, edited))?.name ?? "");
  }, [edited]);
  const isGood = checked.data?.valid === true && asked === files && !checked.isLoading;
  const isChanged = isTouched(draft);
  const file = files.find(({ name }) => name === chosen) ?? files[0] ?? NO_FILE;
  useEffect(() => {
    if (edited !== "" && field.current !== null) selectRule(field.current, edited);
  }, [edited, file.name]);
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
            ref={field}
            class="code"
            rows={20}
            spellcheck={false}
            value={file.text}
            data-testid="draft"
            onInput={(event) => write(event.currentTarget.value)}
          />
        </label>
        <div class="actions">
          <Activate
            draft={draft}
            onChange={onChange}
            onActivated={onActivated}
            isPossible={isGood && isChanged && !isOutdated}
          />
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
      </section>
      <div class="side">
        <section class="card" aria-live="polite" data-testid="draft-check">
          <ResourceView of={checked}>{(report) => <Report {...report} />}</ResourceView>
        </section>
        {base !== null && isChanged && (
          <section class="card">
            <h2>Changes to version {base.version}</h2>
            <Patch label="Changes" text={filesDiff(base.files, asked)} testId="draft-changes" />
          </section>
        )}
        {isGood && isChanged && may("GET /audit") && may("POST /policy/replay") && (
          <DraftComparison files={files} />
        )}
      </div>
    </div>
  );
}

/** Brings the draft into force, after a question that shows its changes. */
function Activate(props: Omit<EditorProps, "isOutdated"> & { readonly isPossible: boolean }) {
  const { draft, onChange, onActivated, isPossible } = props;
  const { base, files } = draft;
  if (base === null || !may("POST /policy/activate")) return null;
  const activate = async (): Promise<void> => {
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
    <>
      <button
        type="button"
        class="button danger"
        disabled={!isPossible}
        onClick={() => void activate()}
        data-testid="activate"
      >
        Activate…
      </button>
      {!isTouched(draft) && (
        <p class="quiet">These are the rules in force, version {base.version}.</p>
      )}
    </>
  );
}

/** Selects the lines of the rule and scrolls to them. */
function selectRule(field: HTMLTextAreaElement, rule: string): void {
  const found = linesOfRule(field.value, rule);
  if (found === null) return;
  const lines = field.value.split("\n");
  const offsetOf = (line: number): number =>
    lines.slice(0, line).join("\n").length + Math.sign(line);
  field.focus({ preventScroll: true });
  field.setSelectionRange(offsetOf(found.from), offsetOf(found.to));
  field.scrollTop = (field.scrollHeight / lines.length) * Math.max(0, found.from - 2);
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
