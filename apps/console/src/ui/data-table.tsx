import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { MoreRows } from "../core/more-rows.ts";
import { navigate } from "../core/router.ts";

export interface Column<Row> {
  readonly title: string;
  /** Shown in place of the title, which screen readers read. */
  readonly head?: ComponentChildren;
  readonly cell: (row: Row) => ComponentChildren;
  /** Left out on narrow screens. */
  readonly isWide?: boolean;
  readonly isNumber?: boolean;
  /** Takes what room there is. */
  readonly isMain?: boolean;
}

interface Props<Row> {
  /** Describes the rows for people who cannot see them. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** The target of a row's link, which is in its first cell. */
  readonly hrefOf?: (row: Row) => string;
  readonly onPick?: (row: Row) => void;
  readonly isPicked?: (row: Row) => boolean;
  readonly height?: "tall" | "half";
  readonly testId?: string;
  /** A control in front of a row's first cell, such as one that folds the rows below. */
  readonly beforeOf?: (row: Row) => ComponentChildren;
  /** The key of a row to scroll to. */
  readonly inSight?: string | null;
  /** True: the end stays in sight while rows come. */
  readonly isFollowing?: boolean;
  /** Further rows, loaded when the person scrolls to the end. */
  readonly more?: MoreRows<unknown>;
}

/** The CSS has the same value: `--row`. */
const ROW_PX = 32;
/** The number of rows rendered beyond the edges. */
const BEYOND = 12;
const ALL_BELOW = 120;

/** Rows of one height, of which only those in sight are in the document, however many there are. */
export function DataTable<Row>(props: Props<Row>) {
  const { label, columns, rows, keyOf, height = "tall", testId = "table", more } = props;
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 800 });
  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const look = (): void =>
      setView({ top: element.scrollTop, height: element.clientHeight || 800 });
    look();
    element.addEventListener("scroll", look, { passive: true });
    const sizes = new ResizeObserver(look);
    sizes.observe(element);
    return () => {
      element.removeEventListener("scroll", look);
      sizes.disconnect();
    };
  }, []);
  const isAtEnd = view.top > 0 && view.top + view.height > (rows.length - BEYOND) * ROW_PX;
  useEffect(() => {
    if (isAtEnd) more?.load();
  }, [isAtEnd, rows.length]);
  useEffect(() => {
    if (props.isFollowing === true) box.current?.scrollTo(0, rows.length * ROW_PX);
  }, [props.isFollowing, rows.length]);
  useEffect(() => {
    const at = rows.findIndex((row) => keyOf(row) === props.inSight);
    if (at >= 0) box.current?.scrollTo(0, Math.max(0, at * ROW_PX - view.height / 2));
  }, [props.inSight]);
  const isWhole = rows.length <= ALL_BELOW;
  const first = isWhole ? 0 : Math.max(0, Math.floor(view.top / ROW_PX) - BEYOND);
  const many = isWhole ? rows.length : Math.ceil(view.height / ROW_PX) + 2 * BEYOND;
  const shown = rows.slice(first, first + many);
  const below = Math.max(0, rows.length - first - shown.length);
  return (
    <div
      ref={box}
      class={`table-box ${height}`}
      tabIndex={0}
      role="region"
      aria-label={label}
      data-testid={testId}
      data-count={rows.length}
    >
      <table aria-rowcount={rows.length + 1}>
        <thead>
          <tr>
            {columns.map((column, at) => (
              <th key={at} scope="col" class={classOf(column)}>
                <Head {...column} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.length === 0 && (
            <tr>
              <td colSpan={columns.length} class="quiet">
                Nothing here fits the search.
              </td>
            </tr>
          )}
          <Spacer rows={first} columns={columns.length} />
          {shown.map((row, index) => (
            <TableRow key={keyOf(row)} {...props} row={row} index={first + index} />
          ))}
          <Spacer rows={below} columns={columns.length} />
        </tbody>
      </table>
    </div>
  );
}

function Head<Row>({ title, head }: Column<Row>) {
  if (title !== "" && head === undefined) return <>{title}</>;
  return (
    <>
      <span class="visually-hidden">{title === "" ? "Actions" : title}</span>
      {head}
    </>
  );
}

function TableRow<Row>({
  row,
  index,
  columns,
  hrefOf,
  onPick,
  isPicked,
  beforeOf,
}: Props<Row> & { row: Row; index: number }) {
  const href = hrefOf?.(row);
  const open = (event: MouseEvent): void => {
    if ((event.target as Element).closest("a, button, input, select") !== null) return;
    if (getSelection()?.isCollapsed === false) return;
    if (href !== undefined) navigate(href);
    else onPick?.(row);
  };
  const isButton = href === undefined && onPick !== undefined;
  const picked = isPicked?.(row) ?? false;
  return (
    <tr
      aria-rowindex={index + 2}
      class={`${href !== undefined || onPick !== undefined ? "opens" : ""} ${picked ? "picked" : ""}`}
      onClick={open}
      data-testid="row"
    >
      {columns.map((column, at) => {
        const content = column.cell(row);
        return (
          <td key={at} class={classOf(column)}>
            {at === 0 && beforeOf?.(row)}
            {at === 0 && href !== undefined ? <a href={href}>{content}</a> : null}
            {at === 0 && isButton ? (
              <button
                type="button"
                class="row-button"
                aria-pressed={picked}
                onClick={() => onPick?.(row)}
              >
                {content}
              </button>
            ) : null}
            {at === 0 && (href !== undefined || isButton) ? null : content}
          </td>
        );
      })}
    </tr>
  );
}

function Spacer({ rows, columns }: { rows: number; columns: number }) {
  if (rows === 0) return null;
  return (
    <tr aria-hidden="true" style={{ height: `${rows * ROW_PX}px` }}>
      <td colSpan={columns} />
    </tr>
  );
}

function classOf<Row>({ isWide, isNumber, isMain }: Column<Row>): string {
  return [isWide && "wide", isNumber && "number", isMain && "main"].filter(Boolean).join(" ");
}
