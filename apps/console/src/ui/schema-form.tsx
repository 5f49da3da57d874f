import { useState } from "preact/hooks";
import { prettyJson } from "../core/format.ts";

/** A JSON Schema, as far as the form reads it. */
export interface FormSchema {
  readonly type?: string | readonly string[];
  readonly title?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly format?: string;
  readonly properties?: Readonly<Record<string, FormSchema>>;
  readonly required?: readonly string[];
  readonly items?: FormSchema;
  readonly oneOf?: readonly FormSchema[];
  readonly anyOf?: readonly FormSchema[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
}

interface FieldProps {
  readonly name: string;
  readonly schema: FormSchema;
  readonly value: unknown;
  readonly isRequired: boolean;
  readonly onChange: (value: unknown) => void;
  readonly depth: number;
}

/** Deeper ones are written as JSON. */
const DEEPEST = 4;
const LONG = 200;
const INPUT_TYPES: Readonly<Record<string, string>> = {
  date: "date",
  email: "email",
  uri: "url",
  time: "time",
};

/** A form for an object of the schema; what it cannot show as fields stands as JSON. `undefined` values are left out. */
export function SchemaForm(props: {
  schema: FormSchema;
  value: Readonly<Record<string, unknown>>;
  onChange: (value: Record<string, unknown>) => void;
}) {
  const { schema, value, onChange } = props;
  return <Fields schema={schema} value={value} onChange={onChange} depth={0} />;
}

/** What a form begins with: what is required or has a default. */
export function initialOf(schema: FormSchema): unknown {
  if (schema.default !== undefined) return schema.default;
  if (schema.const !== undefined) return schema.const;
  if (typeOf(schema) !== "object" || schema.properties === undefined) return undefined;
  const entries = Object.entries(schema.properties).flatMap(([name, part]) => {
    const initial = initialOf(part);
    const isNeeded = schema.required?.includes(name) ?? false;
    return initial === undefined || (!isNeeded && part.default === undefined)
      ? []
      : [[name, initial] as const];
  });
  return Object.fromEntries(entries);
}

function Fields(props: {
  schema: FormSchema;
  value: Readonly<Record<string, unknown>>;
  onChange: (value: Record<string, unknown>) => void;
  depth: number;
}) {
  const { schema, value, onChange, depth } = props;
  const set = (name: string, part: unknown): void => {
    const { [name]: _old, ...rest } = value;
    onChange(part === undefined ? rest : { ...rest, [name]: part });
  };
  return (
    <>
      {Object.entries(schema.properties ?? {}).map(([name, part]) => (
        <Field
          key={name}
          name={name}
          schema={part}
          value={value[name]}
          isRequired={schema.required?.includes(name) ?? false}
          onChange={(given) => set(name, given)}
          depth={depth}
        />
      ))}
    </>
  );
}

function Field(props: FieldProps) {
  const { schema, depth } = props;
  const alternatives = schema.oneOf ?? schema.anyOf;
  if (schema.enum !== undefined) return <ChoiceField {...props} />;
  if (alternatives !== undefined && schema.type === undefined)
    return <AlternativeField {...props} alternatives={alternatives} />;
  switch (typeOf(schema)) {
    case "string":
      return <TextField {...props} />;
    case "number":
    case "integer":
      return <NumberField {...props} />;
    case "boolean":
      return <BooleanField {...props} />;
    case "array":
      return schema.items === undefined || depth >= DEEPEST ? (
        <JsonField {...props} />
      ) : (
        <ListField {...props} items={schema.items} />
      );
    case "object":
      return schema.properties === undefined || depth >= DEEPEST ? (
        <JsonField {...props} />
      ) : (
        <ObjectField {...props} />
      );
    default:
      return <JsonField {...props} />;
  }
}

function Label({ name, schema, isRequired }: FieldProps) {
  return (
    <>
      <span>
        {schema.title ?? name}
        {isRequired ? "" : " (optional)"}
      </span>
      {schema.description !== undefined && <small class="quiet">{schema.description}</small>}
    </>
  );
}

function TextField(props: FieldProps) {
  const { name, schema, value, isRequired, onChange } = props;
  const text = typeof value === "string" ? value : "";
  const change = (given: string): void => onChange(given === "" && !isRequired ? undefined : given);
  const isLong = text.length > LONG || text.includes("\n") || /content|text|body|query/.test(name);
  const type = INPUT_TYPES[schema.format ?? ""] ?? "text";
  return (
    <label class="field" data-testid={`field-${name}`}>
      <Label {...props} />
      {isLong && type === "text" ? (
        <textarea
          rows={3}
          value={text}
          required={isRequired}
          onInput={(event) => change(event.currentTarget.value)}
        />
      ) : (
        <input
          type={type as "text"}
          value={text}
          required={isRequired}
          {...(schema.maxLength !== undefined && { maxLength: schema.maxLength })}
          onInput={(event) => change(event.currentTarget.value)}
        />
      )}
    </label>
  );
}

function NumberField(props: FieldProps) {
  const { name, schema, value, isRequired, onChange } = props;
  return (
    <label class="field" data-testid={`field-${name}`}>
      <Label {...props} />
      <input
        type="number"
        step={typeOf(schema) === "integer" ? 1 : "any"}
        {...(schema.minimum !== undefined && { min: schema.minimum })}
        {...(schema.maximum !== undefined && { max: schema.maximum })}
        value={typeof value === "number" ? String(value) : ""}
        required={isRequired}
        onInput={({ currentTarget }) =>
          onChange(currentTarget.value === "" ? undefined : Number(currentTarget.value))
        }
      />
    </label>
  );
}

function BooleanField(props: FieldProps) {
  const { name, value, onChange } = props;
  return (
    <label class="check" data-testid={`field-${name}`}>
      <input
        type="checkbox"
        checked={value === true}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <span class="field">
        <Label {...props} isRequired />
      </span>
    </label>
  );
}

function ChoiceField(props: FieldProps) {
  const { name, schema, value, isRequired, onChange } = props;
  const options = schema.enum ?? [];
  const at = options.findIndex((one) => JSON.stringify(one) === JSON.stringify(value));
  return (
    <label class="field" data-testid={`field-${name}`}>
      <Label {...props} />
      <select
        value={String(at)}
        required={isRequired}
        onChange={(event) => onChange(options[Number(event.currentTarget.value)])}
      >
        <option value="-1">{isRequired ? "choose…" : "–"}</option>
        {options.map((one, index) => (
          <option key={String(index)} value={String(index)}>
            {typeof one === "string" ? one : JSON.stringify(one)}
          </option>
        ))}
      </select>
    </label>
  );
}

function AlternativeField(props: FieldProps & { alternatives: readonly FormSchema[] }) {
  const { alternatives, name, schema, onChange } = props;
  const [at, setAt] = useState(0);
  const chosen = alternatives[at];
  return (
    <fieldset>
      <legend>{schema.title ?? name}</legend>
      <label class="field">
        <span>Kind</span>
        <select
          value={String(at)}
          onChange={(event) => {
            setAt(Number(event.currentTarget.value));
            onChange(undefined);
          }}
        >
          {alternatives.map((one, index) => (
            <option key={String(index)} value={String(index)}>
              {one.title ?? typeOf(one) ?? `kind ${index + 1}`}
            </option>
          ))}
        </select>
      </label>
      {chosen !== undefined && <Field {...props} schema={chosen} depth={props.depth + 1} />}
    </fieldset>
  );
}

function ListField(props: FieldProps & { items: FormSchema }) {
  const { items, name, schema, value, isRequired, onChange, depth } = props;
  const list: readonly unknown[] = Array.isArray(value) ? value : [];
  const change = (next: readonly unknown[]): void =>
    onChange(next.length === 0 && !isRequired ? undefined : next);
  return (
    <fieldset data-testid={`field-${name}`}>
      <legend>
        {schema.title ?? name}
        {isRequired ? "" : " (optional)"}
      </legend>
      {schema.description !== undefined && <small class="quiet">{schema.description}</small>}
      {list.map((one, index) => (
        <div key={String(index)} class="list-item">
          <Field
            name={`${name} ${index + 1}`}
            schema={items}
            value={one}
            isRequired
            depth={depth + 1}
            onChange={(given) => change(list.with(index, given ?? ""))}
          />
          <button
            type="button"
            class="button small"
            aria-label={`Remove ${name} ${index + 1}`}
            onClick={() => change(list.toSpliced(index, 1))}
          >
            ✕
          </button>
        </div>
      ))}
      <button
        type="button"
        class="button small"
        onClick={() => change([...list, initialOf(items) ?? emptyOf(items)])}
      >
        Add
      </button>
    </fieldset>
  );
}

function ObjectField(props: FieldProps) {
  const { name, schema, value, onChange, depth } = props;
  const object = typeof value === "object" && value !== null ? { ...value } : {};
  return (
    <fieldset data-testid={`field-${name}`}>
      <legend>{schema.title ?? name}</legend>
      {schema.description !== undefined && <small class="quiet">{schema.description}</small>}
      <Fields schema={schema} value={object} onChange={onChange} depth={depth + 1} />
    </fieldset>
  );
}

/** For what has no fields: JSON, taken while it is some. */
function JsonField(props: FieldProps) {
  const { name, value, onChange } = props;
  const [text, setText] = useState(value === undefined ? "" : prettyJson(value));
  const [isBad, setBad] = useState(false);
  const change = (given: string): void => {
    setText(given);
    try {
      onChange(given.trim() === "" ? undefined : (JSON.parse(given) as unknown));
      setBad(false);
    } catch {
      setBad(true);
    }
  };
  return (
    <label class="field" data-testid={`field-${name}`}>
      <Label {...props} />
      <textarea
        class="code"
        rows={3}
        value={text}
        placeholder="JSON"
        aria-invalid={isBad}
        onInput={(event) => change(event.currentTarget.value)}
      />
      {isBad && <small role="alert">This is not JSON yet.</small>}
    </label>
  );
}

/** The type that is not `null`. */
function typeOf({ type, properties }: FormSchema): string | undefined {
  if (Array.isArray(type)) return (type as string[]).find((one) => one !== "null");
  return typeof type === "string" ? type : properties === undefined ? undefined : "object";
}

function emptyOf(schema: FormSchema): unknown {
  switch (typeOf(schema)) {
    case "object":
      return {};
    case "array":
      return [];
    case "boolean":
      return false;
    case "number":
    case "integer":
      return schema.minimum ?? 0;
    default:
      return "";
  }
}
