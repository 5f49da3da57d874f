import { useState } from "preact/hooks";
import { prettyJson } from "../core/format.ts";
import {
  alternativeOf,
  alternativesOf,
  choicesOf,
  freshOf,
  initialOf,
  nameOf,
  plainOf,
  typeOf,
  type FormSchema,
} from "./form-schema.ts";

interface FieldProps {
  readonly name: string;
  readonly schema: FormSchema;
  /** Has the definitions that a schema may name. */
  readonly root: FormSchema;
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

/**
 * A form for an object of the schema; parts that it cannot render as fields are edited as JSON. `undefined` values are left out.
 */
export function SchemaForm(props: {
  schema: FormSchema;
  value: Readonly<Record<string, unknown>>;
  onChange: (value: Record<string, unknown>) => void;
}) {
  const { schema, value, onChange } = props;
  return <Fields schema={schema} root={schema} value={value} onChange={onChange} depth={0} />;
}

function Fields(props: {
  schema: FormSchema;
  root: FormSchema;
  value: Readonly<Record<string, unknown>>;
  onChange: (value: Record<string, unknown>) => void;
  depth: number;
}) {
  const { schema, root, value, onChange, depth } = props;
  const set = (name: string, part: unknown): void => {
    const { [name]: _old, ...rest } = value;
    onChange(part === undefined ? rest : { ...rest, [name]: part });
  };
  return (
    <>
      {Object.entries(schema.properties ?? {})
        // There is no choice.
        .filter(([name, part]) => part.const === undefined || !schema.required?.includes(name))
        .map(([name, part]) => (
          <Field
            key={name}
            name={name}
            schema={part}
            root={root}
            value={value[name]}
            isRequired={schema.required?.includes(name) ?? false}
            onChange={(given) => set(name, given)}
            depth={depth}
          />
        ))}
    </>
  );
}

function Field(given: FieldProps) {
  const { root, depth } = given;
  const schema = plainOf(given.schema, root);
  const props = { ...given, schema };
  const choices = choicesOf(schema, root);
  if (choices !== null) return <ChoiceField {...props} choices={choices} />;
  const alternatives = alternativesOf(schema, root);
  if (alternatives !== null && depth < DEEPEST)
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
          {...(schema.minLength !== undefined && { minLength: schema.minLength })}
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

function ChoiceField(props: FieldProps & { choices: NonNullable<ReturnType<typeof choicesOf>> }) {
  const { choices, name, value, isRequired, onChange } = props;
  const at = choices.findIndex((one) => JSON.stringify(one.value) === JSON.stringify(value));
  return (
    <label class="field" data-testid={`field-${name}`}>
      <Label {...props} />
      <select
        value={at < 0 ? "" : String(at)}
        required={isRequired}
        onChange={({ currentTarget }) =>
          onChange(
            currentTarget.value === "" ? undefined : choices[Number(currentTarget.value)]?.value,
          )
        }
      >
        <option value="">{isRequired ? "choose…" : "–"}</option>
        {choices.map((one, index) => (
          <option key={String(index)} value={String(index)}>
            {one.name}
          </option>
        ))}
      </select>
    </label>
  );
}

function AlternativeField(props: FieldProps & { alternatives: readonly FormSchema[] }) {
  const { alternatives, name, schema, root, value, isRequired, onChange } = props;
  const [picked, setPicked] = useState(0);
  const at = value === undefined ? picked : alternativeOf(value, alternatives);
  const chosen = alternatives[at];
  return (
    <fieldset data-testid={`field-${name}`}>
      <legend>
        {schema.title ?? name}
        {isRequired ? "" : " (optional)"}
      </legend>
      <label class="field">
        <span>Kind</span>
        <select
          value={String(at)}
          onChange={(event) => {
            const next = Number(event.currentTarget.value);
            setPicked(next);
            onChange(freshOf(alternatives[next] ?? {}, root));
          }}
        >
          {alternatives.map((one, index) => (
            <option key={String(index)} value={String(index)}>
              {nameOf(one, index)}
            </option>
          ))}
        </select>
      </label>
      {chosen !== undefined && (
        <Field {...props} key={String(at)} schema={chosen} depth={props.depth + 1} />
      )}
    </fieldset>
  );
}

function ListField(props: FieldProps & { items: FormSchema }) {
  const { items, name, schema, root, value, isRequired, onChange, depth } = props;
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
            root={root}
            value={one}
            isRequired
            depth={depth + 1}
            onChange={(given) => change(list.with(index, given ?? freshOf(items, root)))}
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
        onClick={() => change([...list, freshOf(items, root)])}
      >
        Add
      </button>
    </fieldset>
  );
}

function ObjectField(props: FieldProps) {
  const { name, schema, root, value, onChange, depth } = props;
  // Required members are set from the first letter on.
  const fresh = (initialOf(schema, root) as Record<string, unknown> | undefined) ?? {};
  const object = typeof value === "object" && value !== null ? { ...value } : fresh;
  return (
    <fieldset data-testid={`field-${name}`}>
      <legend>{schema.title ?? name}</legend>
      {schema.description !== undefined && <small class="quiet">{schema.description}</small>}
      <Fields schema={schema} root={root} value={object} onChange={onChange} depth={depth + 1} />
    </fieldset>
  );
}

/** A field of JSON for schemas without fields, applied while it is valid. */
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
