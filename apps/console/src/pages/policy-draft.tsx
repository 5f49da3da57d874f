import { useEffect, useState } from "preact/hooks";
import { useResource } from "../core/resource.ts";
import { filterOf, setFilter } from "../core/router.ts";
import { may } from "../core/session.ts";
import {
  isTouched,
  removeDraft,
  storeDraft,
  storedDraft,
  type PolicyDraft as Draft,
} from "../core/stored-draft.ts";
import { Snippet } from "../ui/copy.tsx";
import { Loading, ProblemNote } from "../ui/resource-view.tsx";
import { Editor } from "./policy-editor.tsx";
import type { PolicyVersions } from "./policy-in-force.tsx";
import { withRule } from "./rule-text.ts";

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

/**
 * The workbench: rules are checked as they are edited, with their tests, their differences and what they would change among recorded
 * decisions beside them. They take effect only when they are activated.
 */
export function PolicyDraft({ of: versions }: { of: PolicyVersions }) {
  const mayRead = may("GET /policy/texts");
  const texts = useResource("GET /policy/texts", mayRead ? {} : null, ["other"]);
  const [draft, setDraft] = useState<Draft | null>(null);
  const inForce = texts.data;
  const known = versions.data?.versions;
  useEffect(() => {
    if (!mayRead) setDraft((old) => old ?? storedDraft([]) ?? { base: null, files: [STUB] });
    if (!mayRead || inForce === null || known === undefined) return;
    const digests = [inForce.policyDigest, ...known.map(({ policyDigest }) => policyDigest)];
    setDraft((old) => {
      const stored = old ?? storedDraft(digests);
      return stored?.base && isTouched(stored) ? stored : { base: inForce, files: inForce.files };
    });
  }, [mayRead, inForce, known]);
  const change = (next: Draft): void => {
    if (draft !== null && draft.base?.policyDigest !== next.base?.policyDigest) removeDraft(draft);
    setDraft(next);
    if (isTouched(next)) storeDraft(next);
    else removeDraft(next);
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
    draft.base !== null &&
    inForce !== null &&
    (inForce.version !== draft.base.version || inForce.policyDigest !== draft.base.policyDigest);
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
      <Editor
        draft={draft}
        onChange={change}
        isOutdated={isOutdated}
        onActivated={() => {
          texts.reload();
          versions.reload();
        }}
      />
    </>
  );
}

/** A rule that a link proposes, such as one made from a call that waits; it becomes part of the draft with a click. */
function ProposedRule({ draft, onChange }: { draft: Draft; onChange: (draft: Draft) => void }) {
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
