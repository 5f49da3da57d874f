import { useEffect, useState } from "preact/hooks";
import { count } from "../core/format.ts";
import { act, useResource } from "../core/resource.ts";
import { client, may } from "../core/session.ts";
import { ask } from "../ui/dialog.tsx";
import { ResourceView } from "../ui/resource-view.tsx";
import { Status } from "../ui/status.tsx";
import { DraftComparison } from "./draft-comparison.tsx";

const ASK_AFTER_MS = 500;
const BEGIN = `# What no rule allows is denied, and a deny always wins.
version: 1
rules:
  - id: read-the-docs
    effect: allow
    approval: auto
    who: { agents: [demo] }
    what: { tools: ["files.read_*"] }
`;

/** Rules that are checked while somebody writes, with their own tests; nothing counts before they are activated. */
export function PolicyDraft() {
  const [bundleText, setBundle] = useState(BEGIN);
  const [testsText, setTests] = useState("");
  const [asked, setAsked] = useState({ bundleText: BEGIN, testsText: "" });
  useEffect(() => {
    const timer = setTimeout(() => setAsked({ bundleText, testsText }), ASK_AFTER_MS);
    return () => clearTimeout(timer);
  }, [bundleText, testsText]);
  const checked = useResource("POST /policy/validate", {
    body: {
      bundleText: asked.bundleText,
      ...(asked.testsText.trim() !== "" && { testsText: asked.testsText }),
    },
  });
  const isGood = checked.data?.valid === true && asked.bundleText === bundleText;
  const activate = async (): Promise<void> => {
    const note = await ask({
      title: "Activate this draft?",
      text: "It replaces all rules in force, and the files are not followed any more.",
      action: "Activate the draft",
      isDangerous: true,
      input: { label: "Why (for the record)" },
    });
    if (note === null) return;
    const files = [{ name: "console.yaml", text: bundleText }];
    const body = { files, ...(note.trim() !== "" && { note: note.trim() }) };
    await act("The draft is active", () => client.request("POST /policy/activate", { body }));
  };
  return (
    <div class="columns">
      <section class="card">
        <label class="field">
          <span>Rules, as YAML</span>
          <textarea
            class="code"
            rows={16}
            spellcheck={false}
            value={bundleText}
            data-testid="draft"
            onInput={(event) => setBundle(event.currentTarget.value)}
          />
        </label>
        <label class="field">
          <span>Tests of them (optional)</span>
          <textarea
            class="code"
            rows={5}
            spellcheck={false}
            value={testsText}
            onInput={(event) => setTests(event.currentTarget.value)}
          />
        </label>
        {may("POST /policy/activate") && (
          <div class="actions">
            <button
              type="button"
              class="button danger"
              disabled={!isGood}
              onClick={() => void activate()}
            >
              Activate…
            </button>
          </div>
        )}
      </section>
      <section class="card" aria-live="polite" data-testid="draft-check">
        <ResourceView of={checked}>
          {({ valid, rules, problems, findings, tests }) => (
            <>
              <h2>
                <Status is={valid ? "ready" : "failed"}>
                  {valid ? `${count(rules, "rule")}, valid` : "not valid"}
                </Status>
              </h2>
              {problems.map(({ line, column, message }) => (
                <p key={`${line}:${column} ${message}`} class="note bad">
                  <span>
                    Line {line}, column {column}: {message}
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
              {tests.map(({ name, passed, message }) => (
                <p key={name}>
                  <Status is={passed ? "done" : "failed"} /> {name}
                  {message !== null && `: ${message}`}
                </p>
              ))}
              {valid && findings.length === 0 && <p class="quiet">Nothing to remark.</p>}
            </>
          )}
        </ResourceView>
      </section>
      {isGood && may("GET /audit") && may("POST /policy/replay") && (
        <DraftComparison bundleText={bundleText} />
      )}
    </div>
  );
}
