import { Link } from '@tanstack/react-router';
import { buttonClass } from '../ui/Button.tsx';

export function BeginRecipeLink(params: { entity: string; project: string }) {
  return (
    <Link
      to="/p/$entity/$project/training/recipes"
      params={params}
      className={buttonClass('primary')}
    >
      Begin a recipe
    </Link>
  );
}
