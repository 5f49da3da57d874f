import type { VersionReview } from "@switchyard/client/operations";
import { bytesText, count } from "../core/format.ts";
import { act, useResource, type Resource } from "../core/resource.ts";
import { filterOf, navigate } from "../core/router.ts";
import { useSeen } from "../core/seen.ts";
import { client, may } from "../core/session.ts";
import { Id, Snippet } from "../ui/copy.tsx";
import { ask } from "../ui/dialog.tsx";
import { Page } from "../ui/page.tsx";
import { ResourceView } from "../ui/resource-view.tsx";
import { Status } from "../ui/status.tsx";

interface Named {
  readonly name: string;
  readonly version: string;
}

/** A version of a skill that is withheld, as a person has to see it before they trust it. */
export function ReviewSkill({ params }: { params: Readonly<Record<string, string>> }) {
  const [name, version] = [params["name"] ?? "", filterOf("version")];
  const skill = useResource("GET /skills/{name}", { path: { name }, query: { version } });
  return <Review kind="skill" {...{ name, version }} of={skill} />;
}

/** The same page for a version of an agent. */
export function ReviewAgent({ params }: { params: Readonly<Record<string, string>> }) {
  const [name, version] = [params["name"] ?? "", filterOf("version")];
  const agent = useResource("GET /agents/{name}", { path: { name }, query: { version } });
  return <Review kind="agent" {...{ name, version }} of={agent} />;
}

interface Props extends Named {
  readonly kind: "skill" | "agent";
  readonly of: Resource<{ readonly review?: VersionReview | undefined }>;
}

function Review({ kind, name, version, of }: Props) {
  return (
    <Page
      title={name}
      about={
        <>
          A version of the {kind} to look at. <Id value={version} shown={version.slice(0, 18)} />
        </>
      }
      cli="yard skills withheld"
    >
      <ResourceView of={of}>
        {({ review }) => review !== undefined && <Reviewed {...{ kind, name, version, review }} />}
      </ResourceView>
    </Page>
  );
}

/** Findings and files as text: a version may be hostile, so none of it is rendered. */
function Reviewed(props: Named & { kind: Props["kind"]; review: VersionReview }) {
  const { kind, name, version, review } = props;
  const { scan, withheld, files } = review;
  return (
    <>
      <section class={`note ${withheld === null ? "good" : "wait"}`} data-testid="review">
        <strong>
          {withheld === null
            ? "This version is not withheld"
            : `It is withheld: ${withheld.replaceAll("_", " ")}`}
        </strong>
        {withheld !== null && may("POST /skills/trust") && (
          <TrustButton {...{ kind, name, version }} isBlocked={withheld === "blocked"} />
        )}
      </section>
      <section class="card" data-testid="findings">
        <h2>
          {scan === null
            ? "It was not scanned"
            : `The scanner: ${scan.verdict}, ${count(scan.findings.length, "finding")}`}
        </h2>
        <ul class="plain-list">
          {scan?.findings.map(({ code, severity, blocks, file, line, evidence, message }) => (
            <li key={`${code} ${file} ${line ?? ""} ${evidence}`}>
              <p>
                <Status is={blocks ? "blocked" : "note"}>{severity}</Status> <strong>{code}</strong>{" "}
                in {file}
                {line !== null && `, line ${line}`}: {message}
              </p>
              <pre class="text">{evidence}</pre>
            </li>
          ))}
        </ul>
        {(scan?.leftOut ?? 0) > 0 && <p class="quiet">{scan?.leftOut} more are not listed.</p>}
        {scan?.unscanned.map(({ file, code, message }) => (
          <p key={`${file} ${code}`} class="note wait">
            {file} was not looked at: {message}
          </p>
        ))}
      </section>
      {files.map(({ path, sizeBytes, text }) => (
        <section key={path} class="card" data-testid="reviewed-file">
          <h2>
            {path}, {bytesText(sizeBytes)}
          </h2>
          {text === null ? (
            <p class="note wait">It is no text, or too long to be shown here.</p>
          ) : (
            <Snippet label={path} text={text} />
          )}
        </section>
      ))}
    </>
  );
}

function TrustButton(props: Named & { kind: Props["kind"]; isBlocked: boolean }) {
  const { kind, name, version, isBlocked } = props;
  const isSeen = useSeen(version);
  const trust = async (): Promise<void> => {
    const reason = await ask({
      title: `Trust ${kind} ${name}?`,
      text: isBlocked
        ? "The scanner blocks this version. Agents will read it all the same; say why they may."
        : "Agents will read this version, and no other one.",
      action: "Trust this version",
      isDangerous: true,
      input: { label: "Why (for the record)" },
    });
    if (reason === null) return;
    const why = reason.trim() !== "" && { reason: reason.trim() };
    const isDone = await act(`${name} is trusted`, () =>
      client.request("POST /skills/trust", { body: { kind, name, version, ...why } }),
    );
    if (isDone) navigate("/skills");
  };
  return (
    <div class="actions">
      <button type="button" class="button" disabled={!isSeen} onClick={() => void trust()}>
        Trust this version
      </button>
    </div>
  );
}
