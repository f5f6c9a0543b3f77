/** The elements of Longview. Importing this module defines them all: `<longview-alibi heads="8">` and its kin. */

/** Names of the views. */
export type ViewName = "none" | "learned" | "sinusoidal" | "rotary" | "t5_bias" | "alibi" | "methods" | "attention" | "perplexity" | "compare" | "claims";

/** A view's state, by the names of the properties; attributes have hyphens in place of underscores. */
export interface State {
  [name: string]: string | number | boolean;
}

/**
 * One view as an element. Attributes are the properties of the view (`heads`, `length`, `max-distance`, …) and
 * `controls` ("all", "none" or names), `theme` ("auto", "light", "dark"), `engine` ("auto", "cpu", "gpu"), `lang`.
 */
export class LongviewElement extends HTMLElement {
  static readonly viewName: ViewName;
  /** The present values of the view's properties. */
  readonly state: State;
  addEventListener(type: "longview-change", listener: (event: CustomEvent<State>) => void, options?: boolean | AddEventListenerOptions): void;
  addEventListener(type: "longview-ready", listener: (event: CustomEvent<null>) => void, options?: boolean | AddEventListenerOptions): void;
  addEventListener(type: string, listener: EventListenerOrEventListenerObject, options?: boolean | AddEventListenerOptions): void;
}

/** The element class of each view. */
export const elements: Record<ViewName, typeof LongviewElement>;

/** What a property may be, as in the page's table of properties. */
export interface Property {
  kind: "whole" | "choice" | "switch" | "numbers" | "wholes" | "names" | "text";
  usual: string | number | boolean;
  low?: number;
  high?: number;
  step?: number;
  choices?: string[];
}
export const PROPERTIES: Record<string, Property>;
export const SETTINGS: Record<string, Property>;

/** The tag of a view: `longview-t5-bias` for "t5_bias". */
export function tagOf(name: ViewName): string;

/** Names and texts of the properties that are not as usual. */
export function unusual(state: State, names?: string[]): [string, string][];

/**
 * Says in which folder the models lie that the package does not carry (all but one an encoding): an address of
 * the repository's `www/checkpoints`, or of a site's `pkg/assets`. To be said before the elements are used.
 */
export function modelsFrom(address: string | URL | null): void;

declare global {
  interface HTMLElementTagNameMap {
    "longview-none": LongviewElement;
    "longview-learned": LongviewElement;
    "longview-sinusoidal": LongviewElement;
    "longview-rotary": LongviewElement;
    "longview-t5-bias": LongviewElement;
    "longview-alibi": LongviewElement;
    "longview-methods": LongviewElement;
    "longview-attention": LongviewElement;
    "longview-perplexity": LongviewElement;
    "longview-compare": LongviewElement;
    "longview-claims": LongviewElement;
  }
}
