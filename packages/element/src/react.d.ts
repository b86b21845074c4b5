import type { CSSProperties, ReactElement, ReactNode, Ref } from "react";
import type { HushGrad as HushGradElement, HushGradAttributes, HushGradProblem, HushGradState } from "./hush-grad.js";

export interface HushGradProps extends HushGradAttributes {
  className?: string;
  id?: string;
  style?: CSSProperties;
  /** Fallback content, where the element is unknown and in print. */
  children?: ReactNode;
  ref?: Ref<HushGradElement>;
  /** The same for React 18, where `ref` is not a prop. */
  innerRef?: Ref<HushGradElement>;
  onReady?(state: HushGradState): void;
  onStep?(state: HushGradState): void;
  onPaused?(state: HushGradState): void;
  onComplete?(state: HushGradState): void;
  onState?(state: HushGradState): void;
  onError?(problem: HushGradProblem): void;
}

export declare function HushGrad(props: HushGradProps): ReactElement;
export default HushGrad;
