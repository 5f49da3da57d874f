import { filterOf, setFilter } from "../core/router.ts";

/** A search field whose text is in the address, as `q`. */
export function SearchField({ label, placeholder }: { label: string; placeholder: string }) {
  return (
    <label>
      <span class="visually-hidden">{label}</span>
      <input
        type="search"
        placeholder={placeholder}
        value={filterOf("q")}
        onInput={(event) => setFilter("q", event.currentTarget.value)}
      />
    </label>
  );
}
