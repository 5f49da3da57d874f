import type { ImportedSkill } from "@switchyard/client/operations";
import type { Reply, Request } from "@switchyard/client/client";
import { useState } from "preact/hooks";
import { count } from "../core/format.ts";
import { act } from "../core/resource.ts";
import { client } from "../core/session.ts";
import { toast } from "../core/toasts.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Status } from "../ui/status.tsx";
import { said } from "../ui/statuses.ts";
import type { PackedSkills } from "./packed-skills.ts";

type Report = Reply<"POST /skills/archive">;
type Options = Extract<Request<"POST /skills/archive">, { attachment: Blob }>["query"];

/** Characters of the names in one request, whose address they are part of. */
const MOST_NAMED = 8_000;

/** A folder is looked at without importing anything; then what was found is picked and imported. */
export function SkillImport({ onClose }: { onClose: () => void }) {
  const [packed, setPacked] = useState<PackedSkills | null>(null);
  const [report, setReport] = useState<Report | null>(null);
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  const [isBusy, setBusy] = useState(false);
  const working = async (done: string, work: () => Promise<void>): Promise<void> => {
    setBusy(true);
    await act(done, work);
    setBusy(false);
  };
  const scan = async (list: FileList | null): Promise<void> => {
    const files = [...(list ?? [])];
    const { packedSkillsOf } = await import("./packed-skills.ts");
    const given = await packedSkillsOf(files);
    setPacked(given);
    setReport(null);
    setPicked(new Set());
    if (given === null) {
      if (files.length > 0) toast({ text: "There is no SKILL.md among them", tone: "bad" });
      return;
    }
    await working("", async () => {
      const found = await send(given, { dryRun: true });
      setReport(found);
      setPicked(new Set(found.skills.filter(isGood).map(({ file }) => file)));
    });
  };
  const importPicked = async (given: PackedSkills): Promise<void> =>
    working("Imported", async () => {
      const importId = `console-${Date.now()}-${Math.random()}`;
      for (const only of inParts([...picked])) await send(given, { importId, only });
      onClose();
    });
  return (
    <Dialog title="Import skills" onClose={onClose} size="wide" testId="skill-import">
      <label class="field">
        <span>A folder with skills</span>
        <input
          type="file"
          multiple
          // @ts-expect-error -- Preact's types do not know the attribute with which a browser offers folders
          webkitdirectory
          data-testid="skill-folder"
          onChange={(event: Event) => void scan((event.currentTarget as HTMLInputElement).files)}
        />
      </label>
      <label class="field">
        <span>Or a file: a SKILL.md, or an archive (.zip, .tar.gz)</span>
        <input
          type="file"
          multiple
          accept=".md,.zip,.gz,.tgz,.tar"
          data-testid="skill-files"
          onChange={(event) => void scan(event.currentTarget.files)}
        />
        <small class="quiet">
          The files are scanned first; nothing is imported before you confirm.
        </small>
      </label>
      {isBusy && <p role="status">Looking at it…</p>}
      {report !== null && (
        <>
          <p data-testid="scan-counts">
            Found {report.counts.found}, ready {report.skills.filter(isReady).length}, visible{" "}
            {report.skills.filter(isVisible).length}; repaired {report.counts.repaired}, withheld{" "}
            {report.counts.withheld}, skipped {report.counts.skipped}.
          </p>
          <FoundSkills skills={report.skills} picked={picked} onPick={setPicked} />
        </>
      )}
      <div class="actions end">
        <button type="button" class="button" onClick={onClose}>
          Close
        </button>
        <button
          type="button"
          class="button primary"
          disabled={isBusy || packed === null || picked.size === 0}
          data-testid="import"
          onClick={() => packed !== null && void importPicked(packed)}
        >
          Import {count(picked.size, "skill")}
        </button>
      </div>
    </Dialog>
  );
}

function send(
  { format, bytes: attachment }: PackedSkills,
  more: Partial<Options>,
): Promise<Report> {
  const query = { label: "console", withReports: true, format, ...more };
  return client.request("POST /skills/archive", { query, attachment });
}

function* inParts(names: readonly string[]): Generator<string[]> {
  let part: string[] = [];
  let length = 0;
  for (const name of names) {
    const own = encodeURIComponent(name).length;
    if (part.length > 0 && length + own > MOST_NAMED) {
      yield part;
      part = [];
      length = 0;
    }
    part.push(name);
    length += own;
  }
  if (part.length > 0) yield part;
}

/** The skills found, each with a box; the picked items are skill files. */
function FoundSkills(props: {
  skills: readonly ImportedSkill[];
  picked: ReadonlySet<string>;
  onPick: (picked: ReadonlySet<string>) => void;
}) {
  const { skills, picked, onPick } = props;
  const importable = skills.filter(({ outcome }) => outcome !== "skipped").map(({ file }) => file);
  const toggle = (file: string): void => {
    const next = new Set(picked);
    if (!next.delete(file)) next.add(file);
    onPick(next);
  };
  return (
    <div class="table-box half" tabIndex={0} role="region" aria-label="Found skills">
      <table class="plain">
        <thead>
          <tr>
            <th scope="col">
              <label class="check">
                <input
                  type="checkbox"
                  checked={picked.size >= importable.length}
                  data-testid="import-all"
                  onChange={(event) =>
                    onPick(new Set(event.currentTarget.checked ? importable : []))
                  }
                />
                All
              </label>
            </th>
            <th scope="col">Skill</th>
            <th scope="col">Status</th>
            <th scope="col">Ready</th>
            <th scope="col">Visible</th>
            <th scope="col">Findings</th>
          </tr>
        </thead>
        <tbody>
          {skills.map((skill) => (
            <FoundSkill
              key={skill.file}
              skill={skill}
              isPicked={picked.has(skill.file)}
              onToggle={() => toggle(skill.file)}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function FoundSkill(props: { skill: ImportedSkill; isPicked: boolean; onToggle: () => void }) {
  const { skill, isPicked, onToggle } = props;
  const { name, file, description, outcome, withheld, dependencyWarnings, diagnostics } = skill;
  const shown = name ?? file;
  return (
    <tr
      data-testid="found-skill"
      data-status={said("found-skill", withheld === null ? outcome : "withheld")}
    >
      <td>
        <input
          type="checkbox"
          aria-label={`Import ${shown}`}
          checked={isPicked && outcome !== "skipped"}
          disabled={outcome === "skipped"}
          onChange={onToggle}
        />
      </td>
      <td>
        <strong>{shown}</strong>
        <p class="quiet">{description}</p>
      </td>
      <td>
        <Status is={outcome === "skipped" ? "failed" : withheld === null ? "ready" : "waiting"}>
          {withheld === null ? outcome : `withheld: ${withheld.replaceAll("_", " ")}`}
        </Status>
        {skill.change !== null && <p class="quiet">{skill.change}</p>}
      </td>
      <td>{isReady(skill) ? "yes" : "no"}</td>
      <td>{isVisible(skill) ? "yes" : "no"}</td>
      <td>
        {[
          ...(skill.scan?.findings ?? []).map(({ severity, message }) => `${severity}: ${message}`),
          ...dependencyWarnings,
          ...diagnostics.map(({ message }) => message),
        ].map((line) => (
          <p key={line}>{line}</p>
        ))}
        {diagnostics.map(({ patch }) =>
          patch === undefined ? null : (
            <div key={patch.line}>
              <pre class="text removed">{patch.before}</pre>
              <pre class="text added">{patch.after}</pre>
            </div>
          ),
        )}
      </td>
    </tr>
  );
}

/** True when its dependencies are met. */
function isReady({ outcome, dependenciesMet }: ImportedSkill): boolean {
  return outcome !== "skipped" && dependenciesMet !== false;
}

/** Agents and people would find it. */
function isVisible({ outcome, withheld, change }: ImportedSkill): boolean {
  return outcome !== "skipped" && withheld === null && change !== "hidden";
}

/** True when no finding needs a person's attention before the import. */
function isGood({ outcome, withheld, scan }: ImportedSkill): boolean {
  const isSuspect =
    scan?.findings.some(
      ({ blocks, severity }) => blocks || severity === "high" || severity === "critical",
    ) ?? false;
  return outcome !== "skipped" && withheld === null && !isSuspect;
}
