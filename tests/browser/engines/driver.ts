/** A browser that Playwright does not drive, as far as the engine tests need it. */
export interface Driver {
  /** The engine's name. */
  name: string;
  /** What is missing on this machine; undefined if nothing is. */
  missing?: string;
  /** Starts a fresh browser, without the state of earlier tabs. */
  open(): Promise<Tab>;
}

export interface Tab {
  /** Goes to an address, and waits until the document is loaded. */
  goto(url: string): Promise<void>;
  reload(): Promise<void>;
  /** Calls a function in the page; arguments and awaited result are passed as JSON. */
  evaluate<T, A extends unknown[]>(script: (...args: A) => T | Promise<T>, ...args: A): Promise<T>;
  /** Scrolls the one element that a CSS selector finds into view and clicks its centre. */
  click(selector: string): Promise<void>;
  /** Console errors and uncaught exceptions so far; empty if the driver reports none. */
  errors: string[];
  /** Closes the browser. */
  close(): Promise<void>;
}
