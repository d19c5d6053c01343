//! Looks up the arrays of objects of a catalogue by name, by field and by id.

use super::arrays::{ArrayId, ElementArray, NamedArray};
use super::catalogue::Catalog;
#[cfg(feature = "sql")]
use super::error::CatalogError;
use super::id::FieldId;
#[cfg(feature = "sql")]
use crate::error::nearest;

impl Catalog {
    /// Finds an array of objects by its path without `[]`.
    pub(crate) fn find_array(&self, name: &str) -> Option<ElementArray> {
        let found = self.inner.arrays.list.iter().find(|array| {
            array.name_bytes == name.len() && self.field(array.array.field).name().starts_with(name)
        });
        found.map(|found| found.array)
    }

    /// Returns the arrays of objects around a field, from the outermost to the innermost. The result is empty for a hidden
    /// field.
    pub(crate) fn arrays_around(&self, field: FieldId) -> &[ArrayId] {
        self.inner.arrays.of_field(field)
    }

    /// Returns the id of an array.
    pub(crate) fn array_id(&self, array: ElementArray) -> Option<ArrayId> {
        self.arrays_around(array.field).get(usize::from(array.level).checked_sub(1)?).copied()
    }

    /// Returns the array in the form that this catalogue uses: identified by the first visible field below the array.
    pub(crate) fn same_array(&self, array: ElementArray) -> ElementArray {
        self.inner.arrays.of(array).map_or(array, |found| found.array)
    }

    /// Returns the path of an array without `[]`.
    pub(crate) fn array_name(&self, array: ElementArray) -> &str {
        self.inner.arrays.of(array).map_or("", |found| self.name_of(found))
    }

    /// Returns the visible fields below an array, in the order of the catalogue.
    pub(crate) fn fields_of_array(&self, array: ElementArray) -> &[FieldId] {
        self.inner.arrays.of(array).map_or(&[], |found| &found.fields)
    }

    /// Returns the visible fields below the array with this id.
    pub(crate) fn fields_of_array_id(&self, id: ArrayId) -> &[FieldId] {
        self.inner.arrays.get(id).map_or(&[], |found| &found.fields)
    }

    /// Returns the names of all arrays of objects.
    pub(crate) fn array_names(&self) -> impl Iterator<Item = &str> + Clone {
        self.inner.arrays.list.iter().map(|array| self.name_of(array))
    }

    /// Iterates over all arrays of objects and their ids. An outer array comes before the arrays below it.
    #[cfg(feature = "sql")]
    pub(crate) fn arrays(&self) -> impl Iterator<Item = (ArrayId, ElementArray)> {
        (0..=u32::MAX).zip(&self.inner.arrays.list).map(|(id, found)| (ArrayId(id), found.array))
    }

    /// Returns the array with this id.
    #[cfg(feature = "sql")]
    pub(crate) fn array(&self, id: ArrayId) -> Option<ElementArray> {
        self.inner.arrays.get(id).map(|found| found.array)
    }

    /// Finds the arrays of objects with these names, for an SQL table.
    #[cfg(feature = "sql")]
    pub(crate) fn find_arrays<'n>(
        &self,
        names: impl IntoIterator<Item = &'n str>,
    ) -> Result<Vec<ArrayId>, CatalogError> {
        let find = |name: &str| {
            let found = self.find_array(name).and_then(|array| self.array_id(array));
            let near = || nearest(name, self.array_names()).map(str::to_owned);
            found.ok_or_else(|| CatalogError::UnknownArray(name.to_owned(), near()))
        };
        names.into_iter().map(find).collect()
    }

    fn name_of(&self, array: &NamedArray) -> &str {
        self.field(array.array.field).name().get(..array.name_bytes).unwrap_or_default()
    }

    /// Returns true if the field lies below the array.
    pub(crate) fn is_below(&self, field: FieldId, array: ElementArray) -> bool {
        self.array_id(array).is_some_and(|array| self.arrays_around(field).contains(&array))
    }

    /// Returns true if the array `inner` lies below the array `outer`.
    pub(crate) fn is_array_below(&self, inner: ElementArray, outer: ElementArray) -> bool {
        inner.level > outer.level && self.is_below(inner.field, outer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{Field, FieldType};

    #[test]
    fn arrays_of_objects_are_found_by_their_paths() {
        let catalog = Catalog::new([
            Field::new("tags[]", FieldType::String),
            Field::new("legs[].bank", FieldType::String),
            Field::new("legs[].fees[].amount", FieldType::Number),
            Field::new("legs[].fees[].kinds[]", FieldType::String),
            Field::new("grid[][].x", FieldType::Number),
        ])
        .unwrap();
        assert_eq!(catalog.array_names().collect::<Vec<_>>(), ["legs", "legs.fees", "grid"]);
        let legs = catalog.find_array("legs").unwrap();
        let fees = catalog.find_array("legs.fees").unwrap();
        let field = |name| catalog.find(name).unwrap();
        assert_eq!((legs.level, fees.level), (1, 2));
        assert_eq!((legs.field, fees.field), (field("legs.bank"), field("legs.fees.amount")));
        assert!(catalog.is_array_below(fees, legs) && !catalog.is_array_below(legs, fees));
        assert!(!catalog.is_array_below(legs, legs));
        assert!(catalog.is_below(field("legs.fees.kinds"), legs) && !catalog.is_below(field("tags"), legs));
        assert!(!catalog.is_below(field("legs.bank"), fees));
        assert_eq!(catalog.arrays_around(field("legs.fees.kinds")).len(), 2);
        for name in ["tags", "legs.fees.kinds", "leg", "", "legs[]"] {
            assert_eq!(catalog.find_array(name), None, "{name}");
        }
        let narrow = catalog.allow(["legs.fees.kinds"]).unwrap();
        let narrowed = narrow.find_array("legs").unwrap();
        assert_eq!(narrowed.field, field("legs.fees.kinds"));
        assert_eq!(catalog.same_array(narrowed), legs);
        assert_eq!(catalog.array_name(narrowed), "legs");
    }
}
