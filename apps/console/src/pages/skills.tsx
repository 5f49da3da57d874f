import type { SkillSummary } from "@switchyard/client/operations";
import { useState } from "preact/hooks";
import { count } from "../core/format.ts";
import { act, useResource } from "../core/resource.ts";
import { filterOf, navigate, setFilter } from "../core/router.ts";
import { callerName, client, may } from "../core/session.ts";
import { Id } from "../ui/copy.tsx";
import { DataTable, type Column } from "../ui/data-table.tsx";
import { ask } from "../ui/dialog.tsx";
import { Markdown } from "../ui/markdown.tsx";
import { Page } from "../ui/page.tsx";
import { ResourceView } from "../ui/resource-view.tsx";
import { SearchField } from "../ui/search-field.tsx";
import { Status } from "../ui/status.tsx";
import { Time } from "../ui/time.tsx";
import { Fact } from "../run/run-facts.tsx";
import { SkillImport } from "./skill-import.tsx";

const COLUMNS: readonly Column<SkillSummary>[] = [
  { title: "Name", cell: ({ name }) => name },
  {
    title: "Status",
    cell: ({ needsReview, repaired }) => (
      <Status is={needsReview === true ? "waiting" : "ready"}>
        {needsReview === true ? "to review" : repaired === true ? "ready, repaired" : "ready"}
      </Status>
    ),
  },
  { title: "What it does", isMain: true, cell: ({ description }) => description },
  { title: "For", isWide: true, cell: (skill) => visibleTo(skill) },
  {
    title: "From",
    isWide: true,
    cell: ({ path, format, source }) => (
      <>
        {source === "openclaw" && <span class="tag">openclaw</span>}{" "}
        {format === "legacy" && <span class="tag">legacy</span>}{" "}
        {path.split("/").slice(-3, -1).join("/")}
      </>
    ),
  },
];

export function Skills() {
  const skills = useResource("GET /skills", {});
  const withheld = useResource("GET /skills/withheld", may("GET /skills/withheld") ? {} : null);
  const [isImporting, setImporting] = useState(false);
  const search = filterOf("q").toLowerCase();
  const source = filterOf("source");
  const fits = ({ name, description, source: from }: SkillSummary): boolean =>
    `${name} ${description}`.toLowerCase().includes(search) &&
    (source === "" || (from === "openclaw") === (source === "openclaw"));
  const reload = (): void => {
    skills.reload();
    withheld.reload();
  };
  return (
    <Page
      title="Skills"
      about="Instructions that an agent reads when it needs them: folders with a SKILL.md."
      cli="yard skills list"
      nats={`nats req yard.rpc.${callerName()}.skills.list '{}'`}
      actions={
        may("POST /skills") && (
          <button
            type="button"
            class="button primary"
            data-testid="import-skills"
            onClick={() => setImporting(true)}
          >
            Import skills
          </button>
        )
      }
    >
      <div class="filters" role="search">
        <SearchField label="Search skills" placeholder="Name or description…" />
        <label>
          <span class="label">Source</span>
          <select
            value={source}
            onChange={(event) => setFilter("source", event.currentTarget.value)}
          >
            <option value="">all</option>
            <option value="openclaw">openclaw</option>
            <option value="other">others</option>
          </select>
        </label>
      </div>
      {(withheld.data?.withheld ?? []).map(({ kind, name, version, reason, description }) => (
        <section key={`${kind} ${name}`} class="note wait" data-testid="withheld">
          <strong>
            {kind} {name} is withheld: {reason.replaceAll("_", " ")}
          </strong>
          <p class="text">{description}</p>
          <a
            class="button"
            href={`/review/${kind}s/${encodeURIComponent(name)}?version=${encodeURIComponent(version)}`}
          >
            Look at its text and findings
          </a>
        </section>
      ))}
      <ResourceView
        of={skills}
        empty={(data) =>
          data.skills.length > 0 ? null : (
            <>
              <p>There is no skill.</p>
              <p class="quiet">
                Put a folder with a <code>SKILL.md</code> into the project’s <code>skills</code>, or
                import some.
              </p>
            </>
          )
        }
      >
        {(data) => (
          <DataTable
            label="Skills"
            testId="skills"
            columns={COLUMNS}
            rows={data.skills.filter(fits)}
            keyOf={({ name }) => name}
            hrefOf={({ name }) => `/skills/${encodeURIComponent(name)}`}
          />
        )}
      </ResourceView>
      {isImporting && (
        <SkillImport
          onClose={() => {
            setImporting(false);
            reload();
          }}
        />
      )}
    </Page>
  );
}

export function SkillPage({ params }: { params: Readonly<Record<string, string>> }) {
  const name = params["name"] ?? "";
  const path = { name };
  const skill = useResource("GET /skills/{name}", { path });
  const versions = useResource("GET /skills/{name}/versions", { path });
  const remove = async (): Promise<void> => {
    const answer = await ask({
      title: `Remove ${name}?`,
      text: "Runs under way keep it; new ones do not find it.",
      action: `Remove ${name}`,
      isDangerous: true,
    });
    if (answer === null) return;
    const isDone = await act(`${name} is removed`, () =>
      client.request("DELETE /skills/{name}", { path }),
    );
    if (isDone) navigate("/skills");
  };
  const rollBack = async (version: string): Promise<void> => {
    await act(`${name} is as it was`, () =>
      client.request("POST /skills/{name}/rollback", { path, body: { version } }),
    );
    skill.reload();
    versions.reload();
  };
  return (
    <Page
      title={name}
      about={skill.data?.skill.description ?? "A skill"}
      cli={`yard skills show ${name}`}
      nats={`nats req yard.rpc.${callerName()}.skills.get '${JSON.stringify({ name })}'`}
      actions={
        may("DELETE /skills/{name}") &&
        skill.data?.skill.scope !== undefined && (
          <button type="button" class="button danger" onClick={() => void remove()}>
            Remove
          </button>
        )
      }
    >
      <ResourceView of={skill}>
        {({ skill: found, dependencies }) => (
          <>
            <dl class="facts">
              <Fact name="For">{visibleTo(found)}</Fact>
              <Fact name="Tools">{found.allowedTools?.join(", ") ?? "as the agent has"}</Fact>
              <Fact name="Arguments">{found.argumentHint ?? "none said"}</Fact>
              <Fact name="Dependencies">
                {dependencies === null || dependencies === undefined
                  ? "none"
                  : dependencies.met
                    ? "all found"
                    : "some are missing"}
              </Fact>
              <Fact name="Digest">
                <Id value={found.digest} shown={found.digest.slice(0, 18)} />
              </Fact>
            </dl>
            {found.diagnostics.map(({ code, message, severity, patch }) => (
              <div
                key={`${code} ${message}`}
                class={`note ${severity === "error" ? "bad" : "wait"}`}
              >
                <strong>{code}</strong>
                <p>{message}</p>
                {patch !== undefined && (
                  <div>
                    <pre class="text removed">{patch.before}</pre>
                    <pre class="text added">{patch.after}</pre>
                  </div>
                )}
              </div>
            ))}
            {dependencies?.checks.map((check) => (
              <p key={`${check.kind} ${check.name}`}>
                <Status is={check.status === "missing" ? "failed" : "ready"}>{check.status}</Status>{" "}
                {check.kind} <code>{check.name}</code>
              </p>
            ))}
            <section class="card">
              <h2>Text</h2>
              <Markdown text={found.body} />
            </section>
          </>
        )}
      </ResourceView>
      {(versions.data?.versions.length ?? 0) > 0 && (
        <section class="card">
          <h2>{count(versions.data?.versions.length ?? 0, "version")}</h2>
          <ul class="lines">
            {versions.data?.versions.map(({ version, supersededAt, verdict }) => (
              <li key={version}>
                <Id value={version} shown={version.slice(0, 18)} />
                <span class="quiet">{verdict?.verdict ?? "not scanned"}</span>
                {version === versions.data?.current ? (
                  <Status is="active" />
                ) : (
                  <span class="actions">
                    {supersededAt !== null && <Time at={supersededAt} />}
                    {may("POST /skills/{name}/rollback") && (
                      <button
                        type="button"
                        class="button small"
                        onClick={() => void rollBack(version)}
                      >
                        Roll back to it
                      </button>
                    )}
                  </span>
                )}
              </li>
            ))}
          </ul>
        </section>
      )}
    </Page>
  );
}

function visibleTo({
  userInvocable,
  modelInvocable,
}: {
  readonly userInvocable: boolean;
  readonly modelInvocable: boolean;
}): string {
  if (userInvocable && modelInvocable) return "people and agents";
  return userInvocable ? "people" : modelInvocable ? "agents" : "nobody";
}
