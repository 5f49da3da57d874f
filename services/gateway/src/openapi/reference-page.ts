import { createHash } from "node:crypto";
import { html, raw } from "hono/html";
import { openApi } from "./openapi.ts";

type Json = Readonly<Record<string, unknown>>;
type Html = ReturnType<typeof html>;

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly facts: Json;
}

const STYLE = `
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 0 auto; padding: 1rem; }
code { font: 0.9em ui-monospace, monospace; overflow-wrap: anywhere; }
summary { cursor: pointer; padding: 0.25rem 0; }
details { border-top: 1px solid #8884; }
details > :not(summary) { margin-left: 1rem; }
table { border-collapse: collapse; }
th, td { text-align: left; vertical-align: top; padding: 0.15rem 1rem 0.15rem 0; }
.role { opacity: 0.7; }
pre { overflow-x: auto; padding: 0.5rem; background: #8882; max-height: 20rem; }
label { display: block; padding: 0.15rem 0; }
input, textarea, button { font: inherit; }
textarea { display: block; width: 100%; box-sizing: border-box; font-family: ui-monospace, monospace; }
[hidden] { display: none; }
`;

/**
 * Searches the operations and sends requests. It has no other state than what is typed into the page: a credential is in its field alone.
 */
const SCRIPT = `
const search = document.getElementById("search");
const operations = [...document.querySelectorAll("details[data-path]")];
search.addEventListener("input", () => {
  const words = search.value.toLowerCase().split(/\\s+/);
  for (const one of operations)
    one.hidden = !words.every((word) => one.textContent.toLowerCase().includes(word));
});
document.addEventListener("click", async ({ target }) => {
  if (!target.matches("button.send")) return;
  const one = target.closest("details");
  const token = document.getElementById("token").value.trim();
  const headers = token === "" ? {} : { authorization: "Bearer " + token };
  const query = new URLSearchParams();
  let path = one.dataset.path;
  for (const { value, dataset } of one.querySelectorAll("input[data-in]")) {
    if (dataset.in === "path") path = path.replace("{" + dataset.name + "}", encodeURIComponent(value));
    else if (value !== "" && dataset.in === "query") query.set(dataset.name, value);
    else if (value !== "") headers[dataset.name] = value;
  }
  const body = one.querySelector("textarea")?.value;
  if (body !== undefined) headers["content-type"] = "application/json";
  const answer = one.querySelector("pre.answer");
  answer.hidden = false;
  answer.textContent = "…";
  const address = "." + path + (query.size === 0 ? "" : "?" + query);
  const method = one.dataset.method;
  try {
    if (token === "" && method !== "GET") {
      const session = await fetch("../../auth/session");
      headers["x-csrf-token"] = (await session.json()).csrfToken;
    }
    const response = await fetch(address, { method, headers, ...(body !== undefined && { body }) });
    answer.textContent = response.status + " " + response.statusText + "\\n" + (await response.text()).slice(0, 100000);
  } catch (error) {
    answer.textContent = String(error);
  }
});
`;

/** The page's Content-Security-Policy: it loads nothing, has one style and one script, allowed by their digests, and calls this gateway alone. */
export const REFERENCE_POLICY = [
  "default-src 'none'",
  `style-src ${digestOf(STYLE)}`,
  `script-src ${digestOf(SCRIPT)}`,
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

function digestOf(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

let made: Promise<string> | null = null;

/** Renders openapi.json for people: every operation with its parameters, answers and examples, a search, and a form that sends it. */
export function referencePage(): Promise<string> {
  made ??= Promise.resolve(pageOf(openApi())).then(String);
  return made;
}

function pageOf(document: Json): Html {
  const operations = Object.entries(
    document["paths"] as Record<string, Record<string, Json>>,
  ).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, facts]) => ({ method, path, facts })),
  );
  const tags = [...Map.groupBy(operations, ({ facts }) => textsOf(facts["tags"])[0] ?? "")];
  const components = document["components"] as Record<string, Record<string, Json>>;
  const schemas = Object.entries(components["schemas"] ?? {});
  const parameters = components["parameters"] ?? {};
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title>Switchyard: HTTP API</title>
        ${raw(`<style>${STYLE}</style>`)}
      </head>
      <body>
        <h1>Switchyard: HTTP API</h1>
        <p>
          Addresses are below <code>/api/v1</code>. A request carries
          <code>Authorization: Bearer</code> with an API key or a token. Programs read
          <a href="openapi.json">openapi.json</a>.
        </p>
        <p>
          <label>Search <input id="search" type="search" /></label>
          <label
            >API key for requests, unless you are signed in
            <input id="token" type="password" autocomplete="off"
          /></label>
        </p>
        <p>
          ${tags.map(([tag]) => html`<a href="#${tag}">${tag}</a> `)}<a href="#schemas">schemas</a>
        </p>
        ${tags.map(
          ([tag, some]) =>
            html`<h2 id="${tag}">${tag}</h2>
              ${some.map((one) => operationOf(one, parameters))}`,
        )}
        <h2 id="schemas">Schemas</h2>
        ${schemas.map(
          ([name, schema]) =>
            html`<details id="${name}">
              <summary><code>${name}</code></summary>
              ${bodyOf(schema)}
            </details>`,
        )}
        ${raw(`<script>${SCRIPT}</script>`)}
      </body>
    </html>`;
}

function operationOf({ method, path, facts }: Operation, shared: Record<string, Json>): Html {
  const parameters = listOf(facts["parameters"]).map(({ $ref, ...own }) =>
    typeof $ref === "string" ? (shared[nameOf($ref)] ?? {}) : own,
  );
  const body = schemaIn(facts["requestBody"]);
  const responses = Object.entries((facts["responses"] ?? {}) as Record<string, Json>);
  const problems = responses.filter(([, { $ref }]) => $ref !== undefined).map(([status]) => status);
  return html`<details
    id="${String(facts["operationId"])}"
    data-method="${method.toUpperCase()}"
    data-path="${path}"
  >
    <summary>
      <code>${method.toUpperCase()} ${path}</code> ${String(facts["summary"])}
      <span class="role">${String(facts["x-role"])}</span>
    </summary>
    <p>${String(facts["description"])}</p>
    ${
      parameters.length === 0
        ? ""
        : html`<h4>Parameters</h4>
            ${tableOf(
              parameters.map(({ name, in: place, required, schema, description }) => [
                html`<code>${String(name)}</code>`,
                typeOf(schema as Json),
                `${String(place)}${required === true ? ", required" : ""}`,
                textsOf(description).join(),
              ]),
            )}`
    }
    ${
      body === null
        ? ""
        : html`<h4>Body</h4>
            ${bodyOf(body)} ${exampleIn(facts["requestBody"])}`
    }
    ${responses
      .filter(([, { $ref }]) => $ref === undefined)
      .map(([status, response]) => {
        const schema = schemaIn(response);
        return html`<h4>${status} ${String(response["description"])}</h4>
          ${schema === null ? "" : bodyOf(schema)} ${exampleIn(response)}`;
      })}
    ${formOf(parameters, facts["requestBody"])}
    <p>Problems: ${problems.join(", ")}, each a <a href="#Problem">Problem</a>.</p>
  </details>`;
}

/** Renders the fields of a request, filled with their examples where they are needed, and the button that sends it. */
function formOf(parameters: readonly Json[], body: unknown): Html {
  const example = mediaIn(body)?.["example"];
  return html`<h4>Try it</h4>
    ${parameters.map(({ name, in: place, required, example: value }) => {
      const given = required === true ? String(value) : "";
      return html`<label
        ><code>${String(name)}</code>
        <input data-in="${String(place)}" data-name="${String(name)}" value="${given}"
      /></label>`;
    })}
    ${example === undefined ? "" : html`<textarea rows="6" aria-label="Body">${JSON.stringify(example, null, 2)}</textarea>`}
    <button type="button" class="send">Send</button>
    <pre class="answer" hidden></pre>`;
}

function exampleIn(holder: unknown): Html {
  const example = mediaIn(holder)?.["example"];
  if (example === undefined) return html``;
  return html`<pre>
${typeof example === "string" ? example : JSON.stringify(example, null, 2)}</pre>`;
}

/** Returns the JSON of a body or an answer, or its only media type; undefined without one. */
function mediaIn(holder: unknown): Json | undefined {
  const content = Object(Object(holder)["content"]) as Record<string, Json>;
  return content["application/json"] ?? Object.values(content)[0];
}

/** Returns the schema of a body or an answer, whatever its media type; null without one. */
function schemaIn(holder: unknown): Json | null {
  return (mediaIn(holder)?.["schema"] as Json | undefined) ?? null;
}

/** Renders an object as a table of its fields, anything else as its type. */
function bodyOf(schema: Json): Html {
  const fields = Object.entries((schema["properties"] ?? {}) as Record<string, Json>);
  if (fields.length === 0) return html`<p>${typeOf(schema)}</p>`;
  const required = new Set(textsOf(schema["required"]));
  return tableOf(
    fields.map(([name, field]) => [
      html`<code>${name}</code>`,
      typeOf(field),
      required.has(name) ? "required" : "",
      html`${textsOf(field["description"]).join("")}${"default" in field ? html` Default <code>${JSON.stringify(field["default"])}</code>.` : ""}`,
    ]),
  );
}

function tableOf(rows: readonly (readonly (string | Html)[])[]): Html {
  return html`<table>
    ${rows.map(
      (cells) =>
        html`<tr>
          ${cells.map((cell) => html`<td>${cell}</td>`)}
        </tr>`,
    )}
  </table>`;
}

/** Renders a type in one line, with links to named types. */
function typeOf(schema: Json): Html {
  const { $ref, type, enum: values, anyOf, oneOf, items, properties } = schema;
  if (typeof $ref === "string")
    return html`<a href="#${nameOf($ref)}"><code>${nameOf($ref)}</code></a>`;
  if ("const" in schema) return html`<code>${JSON.stringify(schema["const"])}</code>`;
  if (Array.isArray(values))
    return html`<code>${values.map((value) => JSON.stringify(value)).join(" | ")}</code>`;
  const union = anyOf ?? oneOf;
  if (Array.isArray(union))
    return html`${listOf(union).map((one, index) => html`${index === 0 ? "" : " or "}${typeOf(one)}`)}`;
  if (type === "array") return html`list of ${typeOf(Object(items) as Json)}`;
  if (properties !== undefined) {
    const fields = Object.entries(properties as Record<string, Json>);
    return html`{
    ${fields.map(([name, field], index) => html`${index === 0 ? "" : ", "}<code>${name}</code>: ${typeOf(field)}`)}
    }`;
  }
  const { format } = schema;
  return html`${textsOf(type).join(" or ") || "anything"}${typeof format === "string" ? ` (${format})` : ""}`;
}

/** Returns a text or a list of texts as a list. */
function textsOf(value: unknown): string[] {
  return [value].flat().filter((one) => typeof one === "string");
}

/** Returns a list unchanged, and a single value as a list. */
function listOf(value: unknown): Json[] {
  if (value === undefined) return [];
  return (Array.isArray(value) ? value : [value]) as Json[]; // The gateway itself generates openapi.json.
}

function nameOf(ref: string): string {
  return ref.slice(ref.lastIndexOf("/") + 1);
}
